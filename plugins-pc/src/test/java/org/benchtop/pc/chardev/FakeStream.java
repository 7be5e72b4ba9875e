package org.benchtop.pc.chardev;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.FdWatch;
import org.benchtop.spi.host.HostStream;
import org.benchtop.testkit.FakeEventLoop;

/** A host stream whose other side is the test. */
final class FakeStream implements HostStream {
    private static final int FD = 7;

    private final boolean terminal;
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private byte[] input = {};
    private boolean ended;
    private boolean broken;
    private int room = Integer.MAX_VALUE;
    private boolean closed;
    private int watches;

    FakeStream(boolean terminal) {
        this.terminal = terminal;
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public boolean terminal() {
        return terminal;
    }

    synchronized void type(String text) {
        byte[] more = text.getBytes(StandardCharsets.ISO_8859_1);
        byte[] all = java.util.Arrays.copyOf(input, input.length + more.length);
        System.arraycopy(more, 0, all, input.length, more.length);
        input = all;
    }

    synchronized void end() {
        ended = true;
    }

    synchronized void breakOutput() {
        broken = true;
    }

    synchronized void room(int bytes) {
        room = bytes;
    }

    synchronized String output() {
        return written.toString(StandardCharsets.ISO_8859_1);
    }

    synchronized int unread() {
        return input.length;
    }

    synchronized boolean closed() {
        return closed;
    }

    synchronized int watches() {
        return watches;
    }

    @Override
    public synchronized int read(byte[] buffer, int offset, int lengthBytes) {
        int n = Math.min(lengthBytes, input.length);
        if (n == 0) {
            return ended ? -1 : 0;
        }
        System.arraycopy(input, 0, buffer, offset, n);
        input = java.util.Arrays.copyOfRange(input, n, input.length);
        return n;
    }

    @Override
    public synchronized int write(byte[] buffer, int offset, int lengthBytes) {
        if (broken) {
            return -1;
        }
        int n = Math.min(lengthBytes, room);
        room -= n;
        written.write(buffer, offset, n);
        return n;
    }

    @Override
    public synchronized FdWatch watch(EventLoop loop, FdWatch.Handler handler) {
        FdWatch real = loop.watch(FD, handler);
        watches++;
        return new FdWatch() {
            @Override
            public void interest(boolean readable, boolean writable) {
                real.interest(readable, writable);
            }

            @Override
            public void close() {
                synchronized (FakeStream.this) {
                    watches--;
                }
                real.close();
            }
        };
    }

    /** Reports readiness to whoever watches, as an epoll loop would. */
    void poke(FakeEventLoop loop) {
        boolean readable;
        boolean writable;
        synchronized (this) {
            readable = input.length > 0 || ended;
            writable = room > 0;
        }
        loop.ready(FD, readable, writable);
        loop.runPending();
    }

    @Override
    public synchronized void close() {
        closed = true;
    }
}
