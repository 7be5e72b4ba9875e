package org.benchtop.testkit;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.event.EventLoop;
import org.jspecify.annotations.Nullable;

/** A character backend in memory: what the guest wrote can be read, and input can be typed. */
public final class FakeChardev implements Chardev {
    private final ByteArrayOutputStream output = new ByteArrayOutputStream();
    private final ByteArrayOutputStream heldInput = new ByteArrayOutputStream();
    private @Nullable ChardevFrontend frontend;
    private @Nullable EventLoop loop;
    private int capacityBytes = Integer.MAX_VALUE;
    private boolean closed;

    @Override
    public synchronized void connect(ChardevFrontend newFrontend, EventLoop newLoop) {
        if (frontend != null) {
            throw new AssertionError("a front end is already connected");
        }
        frontend = newFrontend;
        loop = newLoop;
    }

    @Override
    public synchronized void disconnect() {
        frontend = null;
        loop = null;
    }

    @Override
    public synchronized int write(byte[] buffer, int offset, int lengthBytes) {
        int taken = Math.min(lengthBytes, capacityBytes - output.size());
        output.write(buffer, offset, taken);
        return taken;
    }

    @Override
    public synchronized boolean write(byte value) {
        if (output.size() >= capacityBytes) {
            return false;
        }
        output.write(value);
        return true;
    }

    /** Limits how many bytes are taken until {@link #drain}. */
    public synchronized void capacity(int bytes) {
        capacityBytes = bytes;
    }

    /** What the guest wrote, and forgets it; tells the front end that there is room again. */
    public byte[] drain() {
        byte[] bytes;
        ChardevFrontend told;
        EventLoop on;
        synchronized (this) {
            bytes = output.toByteArray();
            output.reset();
            told = frontend;
            on = loop;
        }
        if (told != null && on != null) {
            on.call(told::writable);
        }
        return bytes;
    }

    /** What the guest wrote so far, as Latin-1 text. */
    public synchronized String text() {
        return output.toString(StandardCharsets.ISO_8859_1);
    }

    /** Input for the guest, delivered as fast as the front end takes it. */
    public void type(String text) {
        type(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Input for the guest, delivered as fast as the front end takes it. */
    public void type(byte[] bytes) {
        synchronized (this) {
            heldInput.writeBytes(bytes);
        }
        deliver();
    }

    /** How much input the front end has not taken yet. */
    public synchronized int heldInputBytes() {
        return heldInput.size();
    }

    /** Something happens on the line. */
    public void event(ChardevEvent event) {
        ChardevFrontend told;
        EventLoop on;
        synchronized (this) {
            told = frontend;
            on = loop;
        }
        if (told != null && on != null) {
            on.call(() -> told.event(event));
        }
    }

    @Override
    public void resumeInput() {
        EventLoop on;
        synchronized (this) {
            on = loop;
        }
        if (on != null) {
            on.execute(this::deliver);
        }
    }

    private void deliver() {
        ChardevFrontend told;
        EventLoop on;
        synchronized (this) {
            told = frontend;
            on = loop;
        }
        if (told == null || on == null) {
            return;
        }
        on.call(() -> {
            int room = told.receivable();
            while (room > 0) {
                byte[] now;
                synchronized (this) {
                    byte[] all = heldInput.toByteArray();
                    int take = Math.min(room, all.length);
                    if (take == 0) {
                        return;
                    }
                    now = java.util.Arrays.copyOf(all, take);
                    heldInput.reset();
                    heldInput.write(all, take, all.length - take);
                }
                told.receive(now, 0, now.length);
                room = told.receivable();
            }
        });
    }

    /** Whether a front end is connected. */
    public synchronized boolean connected() {
        return frontend != null;
    }

    /** Whether {@link #close} was called. */
    public synchronized boolean closed() {
        return closed;
    }

    @Override
    public String describe() {
        return "fake";
    }

    @Override
    public synchronized void close() {
        closed = true;
        frontend = null;
        loop = null;
    }
}
