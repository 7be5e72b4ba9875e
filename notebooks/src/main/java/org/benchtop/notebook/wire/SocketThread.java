package org.benchtop.notebook.wire;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * A bound socket and the one thread that touches it, because ZeroMQ sockets are not thread-safe. Sending queues the
 * message and wakes the thread; nothing that is received, and no failure of a receiver, ends the loop.
 */
final class SocketThread implements AutoCloseable {
    /** Takes what arrives, on the socket's thread; must not block. */
    interface Receiver {
        void received(List<byte[]> frames);
    }

    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");
    private static final byte[] WAKE = new byte[0];
    private static final int LINGER_MILLIS = 1000;
    private static final int HIGH_WATER_MARK = 2000;
    private static final long MAX_FRAME_BYTES = 256L << 20;
    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int RETRY_MILLIS = 5;

    private final String name;
    private final ZContext context;
    private final ZMQ.Socket socket;
    private final ZMQ.Socket wakeReceiver;
    private final ZMQ.Socket wakeSender;
    private final Receiver receiver;
    private final Thread thread;
    private final Thread waker;
    private final Semaphore wakes = new Semaphore(0);
    private final ConcurrentLinkedQueue<List<byte[]>> outgoing = new ConcurrentLinkedQueue<>();
    private final AtomicLong outgoingBytes = new AtomicLong();
    private final CountDownLatch started = new CountDownLatch(1);
    private final int port;
    private volatile boolean closing;
    private long stalledSince;
    private boolean dropping;

    /** Binds; {@link #start} begins to receive. */
    SocketThread(ZContext context, String name, SocketType type, String address, Receiver receiver) {
        this.name = name;
        this.context = context;
        this.receiver = receiver;
        socket = context.createSocket(type);
        socket.setLinger(LINGER_MILLIS);
        socket.setSndHWM(HIGH_WATER_MARK);
        socket.setRcvHWM(0);
        socket.setMaxMsgSize(MAX_FRAME_BYTES);
        if (type == SocketType.XPUB) {
            // A front end that reads slowly must not lose output; one that has stopped reading must not stop the
            // kernel.
            socket.setXpubNoDrop(true);
        }
        try {
            boolean anyPort = address.endsWith(":0");
            socket.bind(anyPort ? address.substring(0, address.length() - 1) + "*" : address);
        } catch (ZMQException e) {
            throw BenchtopException.of(
                    ErrorKind.HOST, name + " channel: cannot bind " + address + ": " + e.getMessage(), e);
        }
        String endpoint = String.valueOf(socket.getLastEndpoint());
        port = address.startsWith("tcp") ? Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1)) : 0;
        wakeReceiver = context.createSocket(SocketType.PULL);
        wakeReceiver.bind("inproc://wake-" + name);
        wakeSender = context.createSocket(SocketType.PUSH);
        wakeSender.setLinger(0);
        wakeSender.connect("inproc://wake-" + name);
        thread = Thread.ofPlatform().daemon().name("jupyter-" + name).unstarted(this::run);
        waker = Thread.ofPlatform().daemon().name("jupyter-wake-" + name).unstarted(this::passOnWakes);
    }

    /** The port it is bound to. */
    int port() {
        return port;
    }

    void start() {
        thread.start();
        waker.start();
        started.countDown();
    }

    /** Queues a message. Any thread. */
    void send(List<byte[]> frames) {
        outgoingBytes.addAndGet(size(frames));
        outgoing.add(frames);
        if (Thread.currentThread() != thread) {
            wakes.release();
        }
    }

    /**
     * Wakes the socket's thread from one that nobody interrupts: ZeroMQ signals through a channel of {@code java.nio},
     * which an interrupt of the sending thread would close for good, and cells are interrupted at any moment.
     */
    private void passOnWakes() {
        while (true) {
            wakes.acquireUninterruptibly();
            wakes.drainPermits();
            boolean last = closing;
            wakeSender.send(WAKE, ZMQ.DONTWAIT);
            if (last) {
                wakeSender.close();
                return;
            }
        }
    }

    /** Bytes that are queued and not yet with ZeroMQ. */
    long outgoingBytes() {
        return outgoingBytes.get();
    }

    private static long size(List<byte[]> frames) {
        long size = 0;
        for (byte[] frame : frames) {
            size += frame.length;
        }
        return size;
    }

    private void run() {
        try (ZMQ.Poller poller = context.createPoller(2)) {
            poller.register(socket, ZMQ.Poller.POLLIN);
            poller.register(wakeReceiver, ZMQ.Poller.POLLIN);
            while (!closing) {
                try {
                    boolean stalled = !flush();
                    poller.poll(stalled ? RETRY_MILLIS : -1);
                    while (wakeReceiver.recv(ZMQ.DONTWAIT) != null) {
                        // Only to be woken.
                    }
                    receiveAll();
                } catch (ZMQException e) {
                    if (e.getErrorCode() == ZMQ.Error.ETERM.getCode()) {
                        return;
                    }
                    LOG.log(Level.WARNING, name + " channel: " + e.getMessage());
                } catch (RuntimeException | Error e) {
                    // Also when memory is exhausted by a cell: the next message may find some again.
                    survive(e);
                }
            }
            flush();
        } finally {
            wakeReceiver.close();
            socket.close();
        }
    }

    private void survive(Throwable e) {
        try {
            LOG.log(Level.WARNING, name + " channel: a message was dropped: " + e);
        } catch (OutOfMemoryError again) {
            Thread.yield();
        }
    }

    private void receiveAll() {
        byte @Nullable [] frame;
        while ((frame = socket.recv(ZMQ.DONTWAIT)) != null) {
            List<byte[]> frames = new ArrayList<>();
            frames.add(frame);
            while (socket.hasReceiveMore()) {
                frames.add(socket.recv());
            }
            receiver.received(frames);
            // What the receiver answered goes out before the next request is looked at.
            flush();
        }
    }

    /** Hands queued messages to ZeroMQ; false if a front end does not keep up. */
    private boolean flush() {
        @Nullable List<byte[]> frames;
        while ((frames = outgoing.peek()) != null) {
            if (sendFrames(frames)) {
                stalledSince = 0;
                dropping = false;
            } else if (!mayDrop()) {
                return false;
            }
            outgoing.poll();
            outgoingBytes.addAndGet(-size(frames));
        }
        return true;
    }

    private boolean sendFrames(List<byte[]> frames) {
        int last = frames.size() - 1;
        for (int i = 0; i <= last; i++) {
            boolean sent = socket.send(frames.get(i), (i < last ? ZMQ.SNDMORE : 0) | (i == 0 ? ZMQ.DONTWAIT : 0));
            if (!sent && i == 0) {
                return false;
            }
        }
        return true;
    }

    private boolean mayDrop() {
        long now = System.nanoTime();
        if (stalledSince == 0) {
            stalledSince = now;
        }
        if (!dropping && now - stalledSince > STALL_NANOS) {
            LOG.log(Level.WARNING, name + " channel: a front end has stopped reading; messages are dropped");
            dropping = true;
        }
        return dropping || closing;
    }

    /** Sends what is queued, closes the socket and ends the thread. */
    @Override
    public void close() {
        closing = true;
        if (started.getCount() == 0) {
            wakes.release();
            try {
                waker.join(2L * LINGER_MILLIS);
                thread.join(2L * LINGER_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        } else {
            wakeReceiver.close();
            socket.close();
            wakeSender.close();
        }
    }
}
