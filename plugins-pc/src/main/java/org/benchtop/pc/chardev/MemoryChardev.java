package org.benchtop.pc.chardev;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.chardev.ConsoleBuffer;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.stats.Counter;

/** Keeps guest output in memory for scripts and takes input from them. Never refuses output. */
final class MemoryChardev implements Chardev, ConsoleBuffer {
    private static final int INPUT_BYTES = 1 << 20;
    private static final Duration LONGEST_WAIT = Duration.ofDays(3650);

    private final Object lock = new Object();
    private final byte[] data;
    private final FrontendLink link;
    private final Counter outputBytes;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private long end;
    private boolean closed;

    MemoryChardev(MemoryOptions options, ChardevContext context) {
        data = new byte[Math.toIntExact(options.size())];
        link = new FrontendLink(context.id(), INPUT_BYTES, context.stats().counter("input-bytes", "B"));
        outputBytes = context.stats().counter("output-bytes", "B");
        link.otherSide(true);
    }

    @Override
    public void connect(ChardevFrontend frontend, EventLoop loop) {
        link.connect(frontend, loop);
    }

    @Override
    public void disconnect() {
        link.disconnect();
    }

    @Override
    public int write(byte[] buffer, int offset, int lengthBytes) {
        synchronized (lock) {
            int skip = Math.max(0, lengthBytes - data.length);
            int left = lengthBytes - skip;
            int at = (int) ((end + skip) % data.length);
            int first = Math.min(left, data.length - at);
            System.arraycopy(buffer, offset + skip, data, at, first);
            System.arraycopy(buffer, offset + skip + first, data, 0, left - first);
            end += lengthBytes;
            lock.notifyAll();
        }
        outputBytes.add(lengthBytes);
        tellListeners();
        return lengthBytes;
    }

    @Override
    public boolean write(byte value) {
        synchronized (lock) {
            data[(int) (end % data.length)] = value;
            end++;
            lock.notifyAll();
        }
        outputBytes.increment();
        tellListeners();
        return true;
    }

    private void tellListeners() {
        if (!listeners.isEmpty()) {
            for (Runnable listener : listeners) {
                listener.run();
            }
        }
    }

    @Override
    public void resumeInput() {
        link.resumeInput();
    }

    @Override
    public String describe() {
        return "memory";
    }

    @Override
    public Optional<ConsoleBuffer> console() {
        return Optional.of(this);
    }

    @Override
    public long start() {
        synchronized (lock) {
            return Math.max(0, end - data.length);
        }
    }

    @Override
    public long end() {
        synchronized (lock) {
            return end;
        }
    }

    @Override
    public byte[] read(long position, int maxBytes) {
        synchronized (lock) {
            long from = Math.max(position, Math.max(0, end - data.length));
            int n = (int) Math.max(0, Math.min(maxBytes, end - from));
            byte[] copy = new byte[n];
            int at = (int) (from % data.length);
            int first = Math.min(n, data.length - at);
            System.arraycopy(data, at, copy, 0, first);
            System.arraycopy(data, 0, copy, first, n - first);
            return copy;
        }
    }

    @Override
    public long awaitOutput(long position, Duration timeout) throws InterruptedException {
        Duration bounded = timeout.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : timeout;
        long deadline = System.nanoTime() + bounded.toNanos();
        synchronized (lock) {
            while (end <= position && !closed) {
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    break;
                }
                lock.wait(left / 1_000_000 + 1);
            }
            return end;
        }
    }

    @Override
    public void send(byte[] input) {
        int done = 0;
        synchronized (lock) {
            if (input.length <= link.room()) {
                done = link.offer(input, 0, input.length);
            }
        }
        if (done < input.length) {
            throw BenchtopException.of(
                    ErrorKind.GUEST,
                    "console input refused: the guest has left " + link.queued() + " bytes unread, allowed are "
                            + INPUT_BYTES);
        }
    }

    @Override
    public int unsent() {
        return link.queued();
    }

    @Override
    public void sendBreak() {
        link.breakCondition();
    }

    @Override
    public AutoCloseable onOutput(Runnable listener) {
        Runnable own = listener::run;
        listeners.add(own);
        return () -> listeners.remove(own);
    }

    @Override
    public void close() {
        link.disconnect();
        link.close();
        synchronized (lock) {
            closed = true;
            lock.notifyAll();
        }
    }
}
