package org.benchtop.pc.legacy;

import java.util.Optional;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineControl;
import org.benchtop.spi.state.SavedState;

/** A port through which a guest ends its machine with an exit code: the value written, 8, 16 or 32 bits wide. */
public final class DebugExit implements Device {
    private static final int PORTS = 4;

    private final DebugExitOptions options;
    private Optional<MachineControl> machine = Optional.empty();

    private DebugExit(DebugExitOptions options, CreateContext context) {
        this.options = options;
    }

    /** The type {@code debug-exit}. */
    public static DeviceType<DebugExitOptions> type() {
        return new DeviceEntry<>(
                "debug-exit",
                "port by which a guest ends the machine with an exit code",
                DebugExitOptions.class,
                DebugExit::new);
    }

    @Override
    public void attach(DeviceContext context) {
        machine = Optional.of(context.machine());
        context.pio(options.iobase(), PORTS, new Port());
    }

    private final class Port implements PioDevice {
        @Override
        public long read(long offset, int size) {
            return 0;
        }

        @Override
        public void write(long offset, int size, long value) {
            if (offset == 0) {
                int code = (int) (size >= 4 ? value : value & (1L << 8 * size) - 1);
                machine.ifPresent(m -> m.requestExit(code));
            }
        }
    }

    @Override
    public void reset() {}

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    @Override
    public SavedState saveState() {
        return SavedState.EMPTY;
    }

    @Override
    public void restoreState(SavedState state) {}

    @Override
    public void close() {}
}
