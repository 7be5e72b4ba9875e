package org.benchtop.pc.legacy;

import java.util.Map;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.common.SavedStates;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/** Port 0x80: keeps the last POST code. Guests also write it to pass a microsecond. */
public final class PostPort implements Device {
    private static final int PORT = 0x80;

    private final Counter codes;
    private volatile int last;

    private PostPort(NoOptions options, CreateContext context) {
        codes = context.stats().counter("codes");
        context.stats().gauge("last-code", "", () -> last);
    }

    /** The type {@code post-port}. */
    public static DeviceType<NoOptions> type() {
        return new DeviceEntry<>("post-port", "POST code port 0x80", NoOptions.class, PostPort::new);
    }

    @Override
    public void attach(DeviceContext context) {
        context.pio(PORT, 1, new Port());
    }

    private final class Port implements PioDevice {
        @Override
        public long read(long offset, int size) {
            return last;
        }

        @Override
        public void write(long offset, int size, long value) {
            last = (int) value & 0xff;
            codes.increment();
        }
    }

    @Override
    public void reset() {
        last = 0;
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    /** Saved state. */
    record State(int last) {}

    @Override
    public SavedState saveState() {
        return new SavedState(1, new State(last));
    }

    @Override
    public void restoreState(SavedState state) {
        last = SavedStates.content(state, State.class, "post-port").last & 0xff;
    }

    @Override
    public Map<String, Object> inspect() {
        return Map.of("last-code", "0x" + Integer.toHexString(last));
    }

    @Override
    public void close() {}
}
