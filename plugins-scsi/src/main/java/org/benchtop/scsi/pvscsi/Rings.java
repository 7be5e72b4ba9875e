package org.benchtop.scsi.pvscsi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;

/**
 * The request, completion and message rings with their shared indices ({@code PVSCSIRingsState}), in guest memory. Used on
 * the adapter's event loop.
 */
final class Rings {
    static final int PAGE_BYTES = 4096;
    static final int MAX_PAGES = 32;
    static final int MAX_MESSAGE_PAGES = 16;
    static final int REQUEST_BYTES = 128;
    static final int COMPLETION_BYTES = 32;
    static final int MESSAGE_BYTES = 128;

    private static final int REQ_PROD = 0;
    private static final int REQ_CONS = 4;
    private static final int REQ_LOG2 = 8;
    private static final int CMP_PROD = 12;
    private static final int CMP_CONS = 16;
    private static final int CMP_LOG2 = 20;
    private static final int REQ_CALL_THRESHOLD = 24;
    private static final int MSG_PROD = 128;
    private static final int MSG_CONS = 132;
    private static final int MSG_LOG2 = 136;

    private static final VarHandle INDEX =
            ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle().withInvokeExactBehavior();
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final GuestMemory memory;
    private final long[] pageNumbers;
    private final long statePage;
    private final MemorySegment state;
    private final MemorySegment[] requests;
    private final MemorySegment[] completions;
    private final int requestEntries;
    private final int completionEntries;
    private final long[] completionPages;

    private MemorySegment[] messages = {};
    private long[] messagePages = {};
    private int consumed;
    private int produced;

    /**
     * Maps the rings.
     *
     * @throws GuestFault if a page is not RAM
     */
    Rings(GuestMemory memory, long statePage, long[] requestPages, long[] completionPages) throws GuestFault {
        this.memory = memory;
        this.statePage = statePage;
        this.pageNumbers = requestPages.clone();
        this.completionPages = completionPages.clone();
        state = page(memory, statePage);
        requests = pages(memory, requestPages);
        completions = pages(memory, completionPages);
        requestEntries = Integer.highestOneBit(requestPages.length * (PAGE_BYTES / REQUEST_BYTES));
        completionEntries = Integer.highestOneBit(completionPages.length * (PAGE_BYTES / COMPLETION_BYTES));
    }

    private static MemorySegment page(GuestMemory memory, long number) throws GuestFault {
        if (number < 0 || number > Long.MAX_VALUE / PAGE_BYTES) {
            throw new GuestFault(number, PAGE_BYTES);
        }
        return memory.slice(number * PAGE_BYTES, PAGE_BYTES);
    }

    private static MemorySegment[] pages(GuestMemory memory, long[] numbers) throws GuestFault {
        MemorySegment[] pages = new MemorySegment[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            pages[i] = page(memory, numbers[i]);
        }
        return pages;
    }

    /** Publishes the ring sizes, all empty. */
    void initialize() {
        state.set(INT, REQ_PROD, 0);
        state.set(INT, REQ_CONS, 0);
        state.set(INT, REQ_LOG2, Integer.numberOfTrailingZeros(requestEntries));
        state.set(INT, CMP_PROD, 0);
        state.set(INT, CMP_CONS, 0);
        state.set(INT, CMP_LOG2, Integer.numberOfTrailingZeros(completionEntries));
        memory.written(statePage * PAGE_BYTES, REQ_CALL_THRESHOLD);
    }

    /** Adds the message ring, empty. */
    void messages(long[] numbers) throws GuestFault {
        messages = pages(memory, numbers);
        messagePages = numbers.clone();
    }

    void initializeMessages() {
        state.set(INT, MSG_PROD, 0);
        state.set(INT, MSG_CONS, 0);
        state.set(INT, MSG_LOG2, Integer.numberOfTrailingZeros(messageEntries()));
        memory.written(statePage * PAGE_BYTES + MSG_PROD, 12);
    }

    private int messageEntries() {
        return Integer.highestOneBit(messages.length * (PAGE_BYTES / MESSAGE_BYTES));
    }

    /** How many unconsumed requests a driver may gather before it kicks. */
    void callThreshold(int requestCount) {
        state.set(SHORT, REQ_CALL_THRESHOLD, (short) requestCount);
        memory.written(statePage * PAGE_BYTES + REQ_CALL_THRESHOLD, 2);
    }

    int requestEntries() {
        return requestEntries;
    }

    /** How many requests wait; more than the ring has entries for a driver that breaks the rules. */
    int waiting() {
        return (int) INDEX.getAcquire(state, (long) REQ_PROD) - consumed;
    }

    /** Copies the oldest waiting request and frees its entry. */
    void take(MemorySegment to) {
        int entry = consumed & (requestEntries - 1);
        int perPage = PAGE_BYTES / REQUEST_BYTES;
        MemorySegment.copy(requests[entry / perPage], (long) entry % perPage * REQUEST_BYTES, to, 0, REQUEST_BYTES);
        consumed++;
        INDEX.setRelease(state, (long) REQ_CONS, consumed);
        memory.written(statePage * PAGE_BYTES + REQ_CONS, 4);
    }

    /** Fills the next completion; {@link #publish} shows it. */
    void complete(long context, long dataBytes, int senseBytes, int hostStatus, int scsiStatus) {
        int entry = produced & (completionEntries - 1);
        int perPage = PAGE_BYTES / COMPLETION_BYTES;
        MemorySegment page = completions[entry / perPage];
        long at = (long) entry % perPage * COMPLETION_BYTES;
        page.set(LONG, at, context);
        page.set(LONG, at + 8, dataBytes);
        page.set(INT, at + 16, senseBytes);
        page.set(SHORT, at + 20, (short) hostStatus);
        page.set(SHORT, at + 22, (short) scsiStatus);
        page.set(LONG, at + 24, 0);
        memory.written(completionPages[entry / perPage] * PAGE_BYTES + at, COMPLETION_BYTES);
        produced++;
    }

    /** Shows filled completions to the driver. */
    void publish() {
        INDEX.setRelease(state, (long) CMP_PROD, produced);
        memory.written(statePage * PAGE_BYTES + CMP_PROD, 4);
    }

    /** Puts a message into its ring; false if there is no ring or no room. */
    boolean message(int type, int target, int lun) {
        if (messages.length == 0) {
            return false;
        }
        int producer = (int) INDEX.getAcquire(state, (long) MSG_PROD);
        int consumer = (int) INDEX.getAcquire(state, (long) MSG_CONS);
        if (producer - consumer < 0 || producer - consumer >= messageEntries()) {
            return false;
        }
        int entry = producer & (messageEntries() - 1);
        int perPage = PAGE_BYTES / MESSAGE_BYTES;
        MemorySegment page = messages[entry / perPage];
        long at = (long) entry % perPage * MESSAGE_BYTES;
        page.asSlice(at, MESSAGE_BYTES).fill((byte) 0);
        page.set(INT, at, type);
        page.set(INT, at + 8, target);
        page.set(ValueLayout.JAVA_BYTE, at + 13, (byte) lun);
        memory.written(messagePages[entry / perPage] * PAGE_BYTES + at, MESSAGE_BYTES);
        INDEX.setRelease(state, (long) MSG_PROD, producer + 1);
        memory.written(statePage * PAGE_BYTES + MSG_PROD, 4);
        return true;
    }

    /** What is saved. */
    record State(
            long statePage,
            long[] requestPages,
            long[] completionPages,
            long[] messagePages,
            int consumed,
            int produced) {}

    State save() {
        return new State(
                statePage, pageNumbers.clone(), completionPages.clone(), messagePages.clone(), consumed, produced);
    }

    static Rings restore(GuestMemory memory, State saved) throws GuestFault {
        Rings rings = new Rings(memory, saved.statePage, saved.requestPages, saved.completionPages);
        rings.messages(saved.messagePages);
        rings.consumed = saved.consumed;
        rings.produced = saved.produced;
        return rings;
    }
}
