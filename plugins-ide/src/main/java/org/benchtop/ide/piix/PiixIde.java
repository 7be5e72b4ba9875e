package org.benchtop.ide.piix;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.ide.Controllers;
import org.benchtop.ide.DriveSlots;
import org.benchtop.ide.drive.AtaDevice;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciConfigHook;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Stats;
import org.jspecify.annotations.Nullable;

/**
 * The IDE function of a PIIX3 or PIIX4: two channels at their legacy ports and interrupts, and bus-master registers in
 * BAR 4 (82371FB/82371SB and 82371AB data sheets).
 */
public final class PiixIde implements Device, DriveSlots {
    /** The chips. */
    public enum Chip {
        /** 82371SB: multiword DMA. */
        PIIX3(0x7010),
        /** 82371AB: Ultra DMA/33. */
        PIIX4(0x7111);

        private final int deviceId;

        Chip(int deviceId) {
            this.deviceId = deviceId;
        }
    }

    private static final int INTEL = 0x8086;
    private static final int CLASS_IDE_BUS_MASTER = 0x010180;
    private static final int BUS_MASTER_BAR = 4;
    private static final int CHANNEL_BYTES = 8;
    private static final int[] COMMAND_PORTS = {0x1f0, 0x170};
    private static final int[] CONTROL_PORTS = {0x3f6, 0x376};
    private static final int[] IRQS = {14, 15};
    /** IDE timing, one word per channel; bit 15 lets the channel's ports be decoded. */
    private static final int IDETIM = 0x40;

    private static final int IDETIM_DECODE = 0x8000;

    private final String id;
    private final Chip chip;
    private final Optional<PciAddress> address;
    private Optional<Attached> attached = Optional.empty();

    private record Attached(
            PciFunction function,
            List<IdeChannel> channels,
            List<BusRange> ports,
            Controllers controllers,
            boolean firmware) {}

    /** A controller; without an address it takes function 1 of device 1, beside the ISA bridge, where that is free. */
    public PiixIde(String id, Chip chip, Optional<PciAddress> address) {
        this.id = id;
        this.chip = chip;
        this.address = address;
    }

    @Override
    public void attach(DeviceContext context) {
        PciAddress beside = new PciAddress(1, 1);
        boolean taken =
                context.pci().functions().stream().anyMatch(f -> f.address().equals(beside));
        List<IdeChannel> channels = new ArrayList<>();
        FunctionReference reference = new FunctionReference();
        for (int i = 0; i < COMMAND_PORTS.length; i++) {
            channels.add(
                    new IdeChannel("channel" + i, context.memory(), reference::busMaster, context.irqLine(IRQS[i])));
        }
        List<BusRange> ports = new ArrayList<>();
        try {
            for (int i = 0; i < COMMAND_PORTS.length; i++) {
                IdeChannel channel = channels.get(i);
                ports.add(context.pio(COMMAND_PORTS[i], CHANNEL_BYTES, channel.commandBlock()));
                ports.add(context.pio(CONTROL_PORTS[i], 1, channel.controlBlock()));
            }
            PciFunction function = context.pci()
                    .add(new PciFunctionSpec(INTEL, chip.deviceId)
                            .classCode(CLASS_IDE_BUS_MASTER)
                            .revision(chip == Chip.PIIX4 ? 1 : 0)
                            .subsystem(0x1af4, 0x1100)
                            .address(address.or(() -> taken ? Optional.empty() : Optional.of(beside)))
                            .bar(Bar.io(BUS_MASTER_BAR, 2 * CHANNEL_BYTES, new BusMasterPorts(channels)))
                            .hook(new Hook()));
            reference.function = function;
            function.writable(IDETIM, 4, 0xffff_ffffL);
            function.writable(0x44, 1, 0xff);
            if (chip == Chip.PIIX4) {
                function.writable(0x48, 1, 0x0f);
                function.writable(0x4a, 2, 0x3333);
            }
            attached = Optional.of(new Attached(
                    function,
                    List.copyOf(channels),
                    List.copyOf(ports),
                    Controllers.add(context, this),
                    context.machine().firmware()));
        } catch (RuntimeException e) {
            ports.forEach(BusRange::close);
            throw e;
        }
    }

    /** Lets channels ask for bus mastering although they are made before the function. */
    private static final class FunctionReference {
        private volatile @Nullable PciFunction function;

        boolean busMaster() {
            PciFunction present = function;
            return present != null && present.busMaster();
        }
    }

    /** BAR 4: eight ports of each channel. */
    private record BusMasterPorts(List<IdeChannel> channels) implements RegisterAccess {
        @Override
        public long read(long offset, int size) {
            int channel = (int) offset / CHANNEL_BYTES & 1;
            return channels.get(channel).busMasterBlock().read(offset % CHANNEL_BYTES, size);
        }

        @Override
        public void write(long offset, int size, long value) {
            int channel = (int) offset / CHANNEL_BYTES & 1;
            channels.get(channel).busMasterBlock().write(offset % CHANNEL_BYTES, size, value);
        }
    }

    private final class Hook implements PciConfigHook {
        @Override
        public void afterWrite(int offset, int size, long value) {
            if (offset < IDETIM + 4 && offset + size > IDETIM) {
                decode();
            }
        }
    }

    /** Shows each channel's ports as its timing register says. */
    private void decode() {
        attached.ifPresent(a -> {
            for (int i = 0; i < COMMAND_PORTS.length; i++) {
                boolean on = (a.function.config(IDETIM + 2 * i, 2) & IDETIM_DECODE) != 0;
                a.ports.get(2 * i).enable(on);
                a.ports.get(2 * i + 1).enable(on);
            }
        });
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    // Drives.

    @Override
    public String id() {
        return id;
    }

    @Override
    public PciAddress pciAddress() {
        return attached().function.address();
    }

    @Override
    public int channels() {
        return COMMAND_PORTS.length;
    }

    @Override
    public int units() {
        return 2;
    }

    @Override
    public boolean serialAta() {
        return false;
    }

    @Override
    public boolean free(int channel, int unit) {
        return attached().channels.get(channel).free(unit);
    }

    @Override
    public Plug plug(int channel, int unit, AtaDevice device, Optional<Medium> medium, EventLoop loop, Stats stats) {
        return attached().channels.get(channel).plug(unit, device, medium, loop, stats);
    }

    // Life.

    @Override
    public void reset() {
        Attached a = attached();
        a.function.reset();
        a.function.config(0x48, 4, 0);
        // Firmware lets the ports be decoded; a machine without it starts as if it had.
        long timing = a.firmware ? 0 : IDETIM_DECODE;
        a.function.config(IDETIM, 4, timing << 16 | timing);
        a.function.config(0x44, 1, 0);
        decode();
        a.channels.forEach(IdeChannel::reset);
    }

    @Override
    public void pause() {
        attached().channels.forEach(IdeChannel::awaitQuiet);
    }

    @Override
    public void resume() {}

    /** Saved state of the controller. */
    record State(List<IdeChannel.State> channels, SavedState function) {}

    @Override
    public SavedState saveState() {
        Attached a = attached();
        return new SavedState(
                1, new State(a.channels.stream().map(IdeChannel::save).toList(), a.function.saveState()));
    }

    @Override
    public void restoreState(SavedState state) {
        Attached a = attached();
        if (state.version() != 1) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    id + ": saved state has version " + state.version() + ", this build reads version 1");
        }
        if (!(state.content() instanceof State saved) || saved.channels.size() != a.channels.size()) {
            throw BenchtopException.config(id + ": saved state is of another device: "
                    + state.content().getClass().getSimpleName());
        }
        a.function.restoreState(saved.function);
        decode();
        for (int i = 0; i < a.channels.size(); i++) {
            a.channels.get(i).restore(saved.channels.get(i));
        }
    }

    @Override
    public List<RegisterMap<?>> registers() {
        List<RegisterMap<?>> all = new ArrayList<>();
        attached.ifPresent(a -> a.channels.forEach(channel -> all.addAll(channel.tables())));
        return List.copyOf(all);
    }

    @Override
    public Map<String, Object> inspect() {
        return attached.<Map<String, Object>>map(a -> Map.of(
                        "primary", a.channels.get(0).inspect(),
                        "secondary", a.channels.get(1).inspect()))
                .orElse(Map.of());
    }

    @Override
    public void close() {
        Optional<Attached> closing = attached;
        attached = Optional.empty();
        closing.ifPresent(a -> {
            a.channels.forEach(IdeChannel::awaitQuiet);
            a.controllers.remove(this);
            a.ports.forEach(BusRange::close);
            a.function.close();
        });
    }
}
