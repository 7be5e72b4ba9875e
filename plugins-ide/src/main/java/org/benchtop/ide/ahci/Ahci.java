package org.benchtop.ide.ahci;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.ide.Controllers;
import org.benchtop.ide.DriveSlots;
import org.benchtop.ide.drive.AtaDevice;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.RegisterAccess;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.pci.Bar;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.spi.pci.PciFunctionSpec;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Stats;
import org.jspecify.annotations.Nullable;

/** The AHCI host adapter of an ICH9 (8086:2922): one drive on each port, native command queuing, MSI (AHCI 1.3.1). */
public final class Ahci implements Device, DriveSlots, AhciPort.Hba {
    private static final int INTEL = 0x8086;
    private static final int ICH9_AHCI = 0x2922;
    private static final int CLASS_SATA_AHCI = 0x010601;
    private static final int REGISTERS_BAR = 5;
    private static final int REGISTERS_BYTES = 8192;
    private static final int PORTS_OFFSET = 0x100;
    private static final int PORT_BYTES = 0x80;

    private static final int CAP_64 = 1 << 31;
    private static final int CAP_NCQ = 1 << 30;
    private static final int CAP_CLO = 1 << 24;
    private static final int CAP_GEN1 = 1 << 20;
    private static final int CAP_AHCI_ONLY = 1 << 18;
    private static final int CAP_SLOTS = 31 << 8;
    private static final int GHC_RESET = 1;
    private static final int GHC_INTERRUPT = 2;
    private static final int GHC_AHCI = 1 << 31;
    private static final int VERSION = 0x0001_0300;

    private final String id;
    private final Optional<PciAddress> address;
    private final int portCount;
    private final List<AhciPort> ports = new ArrayList<>();
    private final AtomicInteger pending = new AtomicInteger();
    private final AtomicBoolean messageDue = new AtomicBoolean();
    private final RegisterMap<HbaRegister> registers = new RegisterMap<>("hba", HbaRegister.class, new Handler());
    private volatile boolean interruptsEnabled;
    private volatile @Nullable PciFunction function;
    private Optional<Controllers> controllers = Optional.empty();

    /** An adapter with 1 to 32 ports. */
    public Ahci(String id, Optional<PciAddress> address, int ports) {
        this.id = id;
        this.address = address;
        this.portCount = ports;
    }

    @Override
    public void attach(DeviceContext context) {
        for (int i = 0; i < portCount; i++) {
            ports.add(new AhciPort(i, this, context.memory()));
        }
        function = context.pci()
                .add(new PciFunctionSpec(INTEL, ICH9_AHCI)
                        .classCode(CLASS_SATA_AHCI)
                        .revision(2)
                        .subsystem(0x1af4, 0x1100)
                        .interruptPin(1)
                        .address(address)
                        .bar(Bar.memory32(REGISTERS_BAR, REGISTERS_BYTES, new Registers()))
                        .msi(1));
        controllers = Optional.of(Controllers.add(context, this));
    }

    private final class Registers implements RegisterAccess {
        @Override
        public long read(long offset, int size) {
            int port = (int) (offset - PORTS_OFFSET) / PORT_BYTES;
            if (offset < PORTS_OFFSET) {
                return registers.read(offset, size);
            }
            return port < portCount ? ports.get(port).registers().read(offset % PORT_BYTES, size) : 0;
        }

        @Override
        public void write(long offset, int size, long value) {
            int port = (int) (offset - PORTS_OFFSET) / PORT_BYTES;
            if (offset < PORTS_OFFSET) {
                registers.write(offset, size, value);
            } else if (port < portCount) {
                ports.get(port).registers().write(offset % PORT_BYTES, size, value);
            }
        }
    }

    private final class Handler implements RegisterMap.Handler<HbaRegister> {
        @Override
        public long read(HbaRegister register) {
            return peek(register);
        }

        @Override
        public long peek(HbaRegister register) {
            return switch (register) {
                case CAP -> CAP_64 | CAP_NCQ | CAP_CLO | CAP_GEN1 | CAP_AHCI_ONLY | CAP_SLOTS | portCount - 1;
                case GHC -> GHC_AHCI | (interruptsEnabled ? GHC_INTERRUPT : 0);
                case IS -> pending.get();
                case PI -> (1L << portCount) - 1;
                case VS -> VERSION;
                case CAP2 -> 0;
            };
        }

        @Override
        public void write(HbaRegister register, long value) {
            switch (register) {
                case GHC -> {
                    if ((value & GHC_RESET) != 0) {
                        interruptsEnabled = false;
                        ports.forEach(AhciPort::beginReset);
                    } else {
                        interruptsEnabled = (value & GHC_INTERRUPT) != 0;
                        messageDue.set(pending.get() != 0);
                    }
                    publish();
                }
                case IS -> {
                    // A bit follows its port; what is still pending there is announced again.
                    if (pending.get() != 0) {
                        messageDue.set(true);
                    }
                    publish();
                }
                case CAP, PI, VS, CAP2 -> {}
            }
        }
    }

    @Override
    public void portInterrupt(int port, boolean isPending, boolean event) {
        int bit = 1 << port;
        int before;
        do {
            before = pending.get();
        } while (!pending.compareAndSet(before, isPending ? before | bit : before & ~bit));
        if (isPending && event) {
            messageDue.set(true);
        }
    }

    @Override
    public void publish() {
        PciFunction present = function;
        if (present == null) {
            return;
        }
        if (present.msi().enabled()) {
            present.intx().set(false);
            if (interruptsEnabled && pending.get() != 0 && messageDue.getAndSet(false)) {
                present.msi().signal(0);
            }
            return;
        }
        boolean level;
        do {
            level = interruptsEnabled && pending.get() != 0;
            present.intx().set(level);
        } while (level != (interruptsEnabled && pending.get() != 0));
    }

    @Override
    public boolean busMaster() {
        PciFunction present = function;
        return present != null && present.busMaster();
    }

    private PciFunction function() {
        PciFunction present = function;
        if (present == null) {
            throw new IllegalStateException(id + " is not attached");
        }
        return present;
    }

    // Drives.

    @Override
    public String id() {
        return id;
    }

    @Override
    public PciAddress pciAddress() {
        return function().address();
    }

    @Override
    public int channels() {
        return portCount;
    }

    @Override
    public int units() {
        return 1;
    }

    @Override
    public boolean serialAta() {
        return true;
    }

    @Override
    public boolean free(int channel, int unit) {
        return ports.get(channel).free();
    }

    @Override
    public Plug plug(int channel, int unit, AtaDevice device, Optional<Medium> medium, EventLoop loop, Stats stats) {
        return ports.get(channel).plug(device, medium, loop, stats);
    }

    // Life.

    @Override
    public void reset() {
        function().reset();
        interruptsEnabled = false;
        messageDue.set(false);
        ports.forEach(AhciPort::reset);
        publish();
    }

    @Override
    public void pause() {
        ports.forEach(AhciPort::awaitQuiet);
    }

    @Override
    public void resume() {}

    /** Saved state of the adapter. */
    record State(boolean interruptsEnabled, List<AhciPort.State> ports, SavedState function) {}

    @Override
    public SavedState saveState() {
        return new SavedState(
                1,
                new State(
                        interruptsEnabled,
                        ports.stream().map(AhciPort::save).toList(),
                        function().saveState()));
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != 1) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    id + ": saved state has version " + state.version() + ", this build reads version 1");
        }
        if (!(state.content() instanceof State saved) || saved.ports.size() != ports.size()) {
            throw BenchtopException.config(id + ": saved state is of another device: "
                    + state.content().getClass().getSimpleName());
        }
        function().restoreState(saved.function);
        interruptsEnabled = saved.interruptsEnabled;
        for (int i = 0; i < ports.size(); i++) {
            ports.get(i).restore(saved.ports.get(i));
        }
        publish();
    }

    @Override
    public List<RegisterMap<?>> registers() {
        List<RegisterMap<?>> all = new ArrayList<>();
        if (!ports.isEmpty()) {
            all.add(registers);
            ports.forEach(port -> all.add(port.registers()));
        }
        return List.copyOf(all);
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < ports.size(); i++) {
            map.put("port-" + i, ports.get(i).inspect());
        }
        return map;
    }

    @Override
    public void close() {
        ports.forEach(AhciPort::awaitQuiet);
        controllers.ifPresent(c -> c.remove(this));
        controllers = Optional.empty();
        PciFunction present = function;
        if (present != null) {
            present.close();
            function = null;
        }
    }
}
