package org.benchtop.pc.legacy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.pc.common.DeviceEntry;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/**
 * The debug port of firmware: every byte written is output. Reads give 0xE9, by which firmware finds it.
 *
 * <p>The port cannot make the guest wait: what a slow chardev does not take is kept up to a limit and then dropped and
 * counted as {@code dropped-bytes}.
 */
public final class Debugcon implements Device {
    private static final int PRESENT = 0xe9;
    private static final int PENDING_BYTES = 64 * 1024;
    private static final int LINE_BYTES = 1024;
    private static final int KEPT_LINES = 256;

    private final DebugconOptions options;
    private final System.Logger logger;
    private final Counter outputBytes;
    private final Counter droppedBytes;
    private final Object lock = new Object();
    private final byte[] pending = new byte[PENDING_BYTES];
    private int pendingHead;
    private int pendingCount;
    private boolean sending;
    private boolean sendAgain;
    private final byte[] line = new byte[LINE_BYTES];
    private int lineLength;
    private final ArrayDeque<String> lines = new ArrayDeque<>();
    private Optional<Chardev> chardev = Optional.empty();

    private Debugcon(DebugconOptions options, CreateContext context) {
        this.options = options;
        logger = context.logger();
        outputBytes = context.stats().counter("output-bytes", "B");
        droppedBytes = context.stats().counter("dropped-bytes", "B");
    }

    /** The type {@code debugcon}. */
    public static DeviceType<DebugconOptions> type() {
        return new DeviceEntry<>("debugcon", "debug output port of firmware", DebugconOptions.class, Debugcon::new);
    }

    @Override
    public void attach(DeviceContext context) {
        context.pio(options.iobase(), 1, new Port());
        if (options.chardev().isPresent()) {
            Chardev line = context.chardev(options.chardev().get());
            chardev = Optional.of(line);
            line.connect(new Frontend(), context.eventLoop());
        }
    }

    private final class Port implements PioDevice {
        @Override
        public long read(long offset, int size) {
            return PRESENT;
        }

        @Override
        public void write(long offset, int size, long value) {
            outputBytes.increment();
            if (chardev.isPresent()) {
                enqueue((byte) value);
                send();
            } else {
                toLog((byte) value);
            }
        }
    }

    private void enqueue(byte value) {
        synchronized (lock) {
            if (pendingCount == PENDING_BYTES) {
                droppedBytes.increment();
                return;
            }
            pending[(pendingHead + pendingCount) % PENDING_BYTES] = value;
            pendingCount++;
        }
    }

    private void send() {
        while (true) {
            byte value;
            synchronized (lock) {
                if (sending) {
                    sendAgain = true;
                    return;
                }
                if (pendingCount == 0) {
                    return;
                }
                sending = true;
                value = pending[pendingHead];
            }
            boolean taken = chardev.isEmpty() || chardev.get().write(value);
            synchronized (lock) {
                sending = false;
                if (!taken && !sendAgain) {
                    return;
                }
                sendAgain = false;
                if (!taken) {
                    continue;
                }
                pendingHead = (pendingHead + 1) % PENDING_BYTES;
                pendingCount--;
            }
        }
    }

    private void toLog(byte value) {
        String complete;
        synchronized (lock) {
            if (value != '\n' && value != '\r') {
                line[lineLength++] = value;
            }
            if (value != '\n' && lineLength < LINE_BYTES) {
                return;
            }
            complete = new String(line, 0, lineLength, StandardCharsets.ISO_8859_1);
            lineLength = 0;
            if (lines.size() == KEPT_LINES) {
                lines.remove();
            }
            lines.add(complete);
        }
        logger.log(System.Logger.Level.DEBUG, "{0}", complete);
    }

    private final class Frontend implements ChardevFrontend {
        @Override
        public int receivable() {
            return 0;
        }

        @Override
        public void receive(byte[] buffer, int offset, int lengthBytes) {
            // Nothing is ever receivable.
        }

        @Override
        public void writable() {
            send();
        }
    }

    @Override
    public void reset() {
        synchronized (lock) {
            lineLength = 0;
        }
    }

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
    public Map<String, Object> inspect() {
        synchronized (lock) {
            return Map.of("lines", List.copyOf(lines), "pending-bytes", pendingCount);
        }
    }

    @Override
    public void close() {
        chardev.ifPresent(Chardev::disconnect);
    }
}
