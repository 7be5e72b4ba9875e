package org.benchtop.xen.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The page by which a guest talks to the store (xs_wire.h): two rings of 1024 bytes with free-running indices, all of which
 * are the guest's to break. Everything runs on one event loop, except {@link #reset} while no guest runs.
 */
public final class StoreRing {
    private static final int RING = 1024;
    private static final long REQUESTS = 0;
    private static final long RESPONSES = 1024;
    private static final long REQ_CONS = 2048;
    private static final long REQ_PROD = 2052;
    private static final long RSP_CONS = 2056;
    private static final long RSP_PROD = 2060;
    private static final long FEATURES = 2064;
    private static final long CONNECTION = 2068;
    private static final long ERROR = 2072;

    private static final int FEATURE_RECONNECTION = 1;
    private static final int FEATURE_ERROR = 2;
    private static final int CONNECTED = 0;
    private static final int RECONNECT = 1;
    private static final int ERROR_COMM = 1;
    private static final int ERROR_RINGIDX = 2;
    private static final int ERROR_PROTO = 3;

    /** Messages handled in one turn, so that a guest cannot keep the loop to itself. */
    private static final int TURN_MESSAGES = 256;

    private static final VarHandle INDEX =
            ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

    private final MemorySegment page;
    private final StoreConnection connection;
    private final Runnable signal;
    private final Runnable again;

    private final byte[] request = new byte[StoreMessage.HEADER + StoreMessage.MAX_PAYLOAD];
    private int received;
    private byte[] out = {};
    private int sent;
    private boolean broken;

    /**
     * A ring in a page.
     *
     * @param home what relative paths start from
     * @param wake makes {@link #turn} run soon; any thread
     * @param signal tells the guest
     */
    public StoreRing(XenStore store, int domid, String home, MemorySegment page, Runnable wake, Runnable signal) {
        this.page = page;
        this.connection = new StoreConnection(store, domid, home, wake);
        this.signal = signal;
        this.again = wake;
    }

    /** A new conversation on a cleared page. */
    public void reset() {
        connection.reset();
        restart();
    }

    private void restart() {
        received = 0;
        out = new byte[0];
        sent = 0;
        broken = false;
        for (long at = REQ_CONS; at <= RSP_PROD; at += 4) {
            INDEX.setVolatile(page, at, 0);
        }
        INDEX.setVolatile(page, FEATURES, FEATURE_RECONNECTION | FEATURE_ERROR);
        INDEX.setVolatile(page, ERROR, 0);
        INDEX.setVolatile(page, CONNECTION, CONNECTED);
    }

    /** Whether the guest has broken the ring and is not listened to until it reconnects. */
    public boolean broken() {
        return broken;
    }

    private int index(long at) {
        return (int) INDEX.getVolatile(page, at);
    }

    /** Takes what the guest has written and gives it what waits. */
    public void turn() {
        if (index(CONNECTION) == RECONNECT) {
            reset();
            signal.run();
            return;
        }
        if (broken) {
            return;
        }
        if (connection.overflown()) {
            fail(ERROR_COMM);
            return;
        }
        boolean moved = false;
        int messages = 0;
        while (!broken && messages < TURN_MESSAGES) {
            moved |= send();
            if (sent < out.length) {
                // The guest has to read before it may ask more.
                break;
            }
            byte[] event = connection.nextEvent();
            if (event.length > 0) {
                enqueue(event);
                messages++;
                continue;
            }
            int took = receive();
            moved |= took > 0;
            if (received < needed()) {
                break;
            }
            answer();
            messages++;
        }
        if (messages == TURN_MESSAGES) {
            again.run();
        }
        if (moved && !broken) {
            signal.run();
        }
    }

    private void enqueue(byte[] message) {
        out = message;
        sent = 0;
    }

    private boolean send() {
        boolean moved = false;
        while (sent < out.length) {
            int cons = index(RSP_CONS);
            int prod = index(RSP_PROD);
            int used = prod - cons;
            if (used < 0 || used > RING) {
                fail(ERROR_RINGIDX);
                return moved;
            }
            int at = prod & RING - 1;
            int part = Math.min(Math.min(RING - used, RING - at), out.length - sent);
            if (part == 0) {
                return moved;
            }
            MemorySegment.copy(out, sent, page, ValueLayout.JAVA_BYTE, RESPONSES + at, part);
            sent += part;
            INDEX.setVolatile(page, RSP_PROD, prod + part);
            moved = true;
        }
        return moved;
    }

    /** How many bytes the message that is being received has. */
    private int needed() {
        if (received < StoreMessage.HEADER) {
            return StoreMessage.HEADER;
        }
        return StoreMessage.HEADER + header(12);
    }

    private int header(int at) {
        return ByteBuffer.wrap(request).order(ByteOrder.LITTLE_ENDIAN).getInt(at);
    }

    private int receive() {
        int took = 0;
        while (received < needed()) {
            int cons = index(REQ_CONS);
            int prod = index(REQ_PROD);
            int used = prod - cons;
            if (used < 0 || used > RING) {
                fail(ERROR_RINGIDX);
                return took;
            }
            int at = cons & RING - 1;
            int part = Math.min(Math.min(used, RING - at), needed() - received);
            if (part == 0) {
                return took;
            }
            MemorySegment.copy(page, ValueLayout.JAVA_BYTE, REQUESTS + at, request, received, part);
            received += part;
            took += part;
            INDEX.setVolatile(page, REQ_CONS, cons + part);
            if (received == StoreMessage.HEADER && (header(12) < 0 || header(12) > StoreMessage.MAX_PAYLOAD)) {
                received = 0;
                fail(ERROR_PROTO);
                return took;
            }
        }
        return took;
    }

    private void answer() {
        byte[] payload = java.util.Arrays.copyOfRange(request, StoreMessage.HEADER, received);
        received = 0;
        enqueue(connection.answer(header(0), header(4), header(8), payload));
    }

    private void fail(int error) {
        broken = true;
        connection.reset();
        INDEX.setVolatile(page, ERROR, error);
        signal.run();
    }
}
