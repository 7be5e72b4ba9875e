package org.benchtop.pc.display;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.device.TextScreen;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.state.SavedState;

/**
 * A VGA of which only the text is shown. Its memory is the RAM at 0xA0000, so that text costs a guest no exits; what it
 * draws in graphics modes stays there unseen.
 */
public final class VgaText implements Device, TextScreen {
    private static final int PORTS = 0x3b0;
    private static final int[][] RANGES = {{0x3b4, 2}, {0x3ba, 1}, {0x3c0, 16}, {0x3d4, 2}, {0x3da, 1}};
    private static final Path DEBIAN_ROM = Path.of("/usr/share/seabios/vgabios-isavga.bin");
    private static final int TEXT_BASE = 0xb8000;
    private static final int TEXT_BYTES = 0x8000;
    private static final short BLANK = 0x0720;

    private final VgaTextOptions options;
    private final CreateContext creation;
    private final Object lock = new Object();
    private final VgaCore core = new VgaCore();
    private final RegisterMap<VgaRegister> map = new RegisterMap<>("vga", VgaRegister.class, core);
    private Optional<DeviceContext> context = Optional.empty();

    private VgaText(VgaTextOptions options, CreateContext context) {
        this.options = options;
        this.creation = context;
    }

    /** The type {@code vga-text}. */
    public static DeviceType<VgaTextOptions> type() {
        return new DeviceEntry<>(
                "vga-text", "VGA whose text is shown in terminals and notebooks", VgaTextOptions.class, VgaText::new);
    }

    @Override
    public void attach(DeviceContext attached) {
        for (int[] range : RANGES) {
            attached.pio(range[0], range[1], new Ports(range[0] - PORTS));
        }
        if (attached.machine().firmware()) {
            byte[] rom = rom();
            attached.services()
                    .find(FwCfg.class)
                    .ifPresent(fwCfg -> fwCfg.addFile("vgaroms/" + DEBIAN_ROM.getFileName(), () -> rom.clone()));
        }
        attached.services().provide(TextScreen.class, this);
        context = Optional.of(attached);
    }

    private byte[] rom() {
        Path file = options.romfile().map(creation::resolve).orElse(DEBIAN_ROM);
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw BenchtopException.of(
                    ErrorKind.HOST,
                    "the VGA BIOS " + file + " cannot be read: install Debian's package seabios, or name another by"
                            + " romfile",
                    e);
        }
    }

    private final class Ports implements PioDevice {
        private final int base;

        Ports(int base) {
            this.base = base;
        }

        @Override
        public long read(long offset, int size) {
            synchronized (lock) {
                return decoded() ? map.read(base + offset, size) : -1;
            }
        }

        @Override
        public void write(long offset, int size, long value) {
            synchronized (lock) {
                if (decoded()) {
                    map.write(base + offset, size, value);
                }
            }
        }

        /** The CRT controller is at one of its two places, by the miscellaneous output register. */
        private boolean decoded() {
            boolean mono = base < VgaRegister.ATTRIBUTE.offset();
            boolean colour = base > VgaRegister.GRAPHICS_DATA.offset();
            return core.colourPorts() ? !mono : !colour;
        }
    }

    @Override
    public Content content() {
        VgaCore.Layout layout;
        synchronized (lock) {
            layout = core.layout();
        }
        if (layout.columns() == 0 || context.isEmpty()) {
            return Content.NO_TEXT;
        }
        GuestMemory memory = context.get().memory();
        short[] cells = new short[layout.columns() * layout.rows()];
        try {
            for (int row = 0; row < layout.rows(); row++) {
                for (int column = 0; column < layout.columns(); column++) {
                    int at = layout.startBytes() + row * layout.pitchBytes() + 2 * column;
                    cells[row * layout.columns() + column] =
                            memory.readShort(layout.window() + at % layout.windowBytes());
                }
            }
        } catch (GuestFault e) {
            // A machine with less than 1 MiB of RAM has no text.
            return Content.NO_TEXT;
        }
        return new Content(layout.columns(), layout.rows(), cells, layout.cursor());
    }

    @Override
    public void reset() {
        boolean firmware = context.map(c -> c.machine().firmware()).orElse(true);
        synchronized (lock) {
            if (firmware) {
                core.reset();
            } else {
                core.textMode();
            }
        }
        if (!firmware) {
            context.ifPresent(c -> clear(c.memory()));
        }
    }

    private static void clear(GuestMemory memory) {
        try {
            for (int at = 0; at < TEXT_BYTES; at += 2) {
                memory.writeShort(TEXT_BASE + at, BLANK);
            }
            memory.written(TEXT_BASE, TEXT_BYTES);
        } catch (GuestFault e) {
            // A machine with less than 1 MiB of RAM has no text.
            return;
        }
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    @Override
    public SavedState saveState() {
        synchronized (lock) {
            return new SavedState(1, core.save());
        }
    }

    @Override
    public void restoreState(SavedState state) {
        VgaCore.State content = SavedStates.content(state, VgaCore.State.class, "vga-text");
        synchronized (lock) {
            core.restore(content);
        }
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return List.of(map);
    }

    @Override
    public Map<String, Object> inspect() {
        VgaCore.Layout layout;
        synchronized (lock) {
            layout = core.layout();
        }
        return Map.of(
                "shows", layout.columns() == 0 ? "no text" : layout.columns() + " x " + layout.rows() + " characters");
    }

    @Override
    public void close() {}
}
