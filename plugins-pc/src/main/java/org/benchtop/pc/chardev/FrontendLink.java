package org.benchtop.pc.chardev;

import java.util.ArrayDeque;
import java.util.Optional;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.stats.Counter;

/**
 * The way from a backend's threads to the guest's side: queues input and events and delivers them on the front end's
 * loop. Thread-safe.
 *
 * <p>Input that the guest does not take stays here; when the queue is full, the producer is refused (or waits) and so
 * leaves further input with the host: nothing typed is lost.
 */
final class FrontendLink {
    private static final int CHUNK_BYTES = 256;

    /** The current front end. */
    private record Connection(ChardevFrontend frontend, EventLoop loop, Doorbell doorbell) {}

    private final Object lock = new Object();
    private final String name;
    private final ByteRing input;
    private final Counter inputBytes;
    private final byte[] chunk = new byte[CHUNK_BYTES];
    private final ArrayDeque<ChardevEvent> events = new ArrayDeque<>();
    private Optional<Connection> connection = Optional.empty();
    private boolean otherSide;
    private boolean writable;
    private boolean producerRefused;
    private boolean closed;
    private Runnable onRoom = () -> {};

    FrontendLink(String name, int inputCapacityBytes, Counter inputBytes) {
        this.name = name;
        this.input = new ByteRing(inputCapacityBytes);
        this.inputBytes = inputBytes;
    }

    /** Called (on the front end's loop) when a refused producer can offer again. */
    void onRoom(Runnable callback) {
        onRoom = callback;
    }

    void connect(ChardevFrontend frontend, EventLoop loop) {
        Doorbell doorbell = loop.doorbell("chardev " + name, this::service);
        synchronized (lock) {
            if (connection.isPresent()) {
                doorbell.close();
                throw new IllegalStateException("chardev " + name + " has a front end already");
            }
            connection = Optional.of(new Connection(frontend, loop, doorbell));
            events.clear();
            if (otherSide) {
                events.add(ChardevEvent.OPENED);
            }
        }
        doorbell.ring();
    }

    /** When this returns, no method of the front end runs any more. */
    void disconnect() {
        Optional<Connection> old;
        synchronized (lock) {
            old = connection;
            connection = Optional.empty();
            events.clear();
            writable = false;
        }
        old.ifPresent(c -> {
            c.doorbell.close();
            c.loop.call(() -> {});
        });
    }

    /** Queues input; returns how much fitted. A producer that was refused hears of room through {@link #onRoom}. */
    int offer(byte[] buffer, int offset, int lengthBytes) {
        int taken;
        Optional<Connection> current;
        synchronized (lock) {
            taken = input.offer(buffer, offset, lengthBytes);
            producerRefused |= taken < lengthBytes;
            current = connection;
        }
        ring(current);
        return taken;
    }

    /** Room for input. A caller that gets 0 hears of room through {@link #onRoom}. */
    int room() {
        synchronized (lock) {
            producerRefused |= input.free() == 0;
            return input.free();
        }
    }

    /** Queues all of the input, waiting for room; false if the link was closed before. */
    boolean send(byte[] buffer, int offset, int lengthBytes) {
        int done = 0;
        boolean interrupted = false;
        try {
            while (true) {
                done += offer(buffer, offset + done, lengthBytes - done);
                synchronized (lock) {
                    if (done == lengthBytes) {
                        return true;
                    }
                    while (input.free() == 0 && !closed) {
                        try {
                            lock.wait();
                        } catch (InterruptedException e) {
                            interrupted = true;
                        }
                    }
                    if (closed) {
                        return false;
                    }
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    int queued() {
        synchronized (lock) {
            return input.count();
        }
    }

    /** The other side came or went. */
    void otherSide(boolean present) {
        Optional<Connection> current;
        synchronized (lock) {
            if (otherSide == present) {
                return;
            }
            otherSide = present;
            if (connection.isPresent()) {
                events.add(present ? ChardevEvent.OPENED : ChardevEvent.CLOSED);
            }
            current = connection;
        }
        ring(current);
    }

    void breakCondition() {
        Optional<Connection> current;
        synchronized (lock) {
            if (connection.isPresent()) {
                events.add(ChardevEvent.BREAK);
            }
            current = connection;
        }
        ring(current);
    }

    /** Output is possible again. */
    void notifyWritable() {
        Optional<Connection> current;
        synchronized (lock) {
            writable = connection.isPresent();
            current = connection;
        }
        ring(current);
    }

    /** Looks again whether the front end takes input. */
    void resumeInput() {
        Optional<Connection> current;
        synchronized (lock) {
            current = input.count() > 0 ? connection : Optional.empty();
        }
        ring(current);
    }

    /** Wakes waiting producers for good. */
    void close() {
        synchronized (lock) {
            closed = true;
            lock.notifyAll();
        }
    }

    private static void ring(Optional<Connection> connection) {
        connection.ifPresent(c -> c.doorbell.ring());
    }

    /** On the front end's loop. */
    private void service() {
        Optional<Connection> current;
        boolean mayWrite;
        synchronized (lock) {
            current = connection;
            mayWrite = writable;
            writable = false;
        }
        if (current.isEmpty()) {
            return;
        }
        ChardevFrontend frontend = current.get().frontend;
        deliverEvents(frontend);
        if (mayWrite) {
            frontend.writable();
        }
        deliverInput(frontend);
        boolean tellProducer;
        synchronized (lock) {
            tellProducer = producerRefused && input.free() > 0;
            if (tellProducer) {
                producerRefused = false;
            }
            lock.notifyAll();
        }
        if (tellProducer) {
            onRoom.run();
        }
    }

    private void deliverEvents(ChardevFrontend frontend) {
        while (true) {
            ChardevEvent event;
            synchronized (lock) {
                if (events.isEmpty() || connection.isEmpty()) {
                    return;
                }
                event = events.remove();
            }
            frontend.event(event);
        }
    }

    private void deliverInput(ChardevFrontend frontend) {
        while (true) {
            int room = frontend.receivable();
            int n;
            synchronized (lock) {
                n = connection.isEmpty() ? 0 : input.peek(chunk, room);
                if (n <= 0) {
                    return;
                }
                input.skip(n);
            }
            inputBytes.add(n);
            frontend.receive(chunk, 0, n);
        }
    }
}
