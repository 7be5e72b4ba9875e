package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The backend's side of a ring of requests and responses in granted pages (io/ring.h). Requests are copied out before they are
 * looked at; indices are the guest's word. Belongs to one event loop.
 */
final class SharedRing {
    private static final long REQ_PROD = 0;
    private static final long REQ_EVENT = 4;
    private static final long RSP_PROD = 8;
    private static final long RSP_EVENT = 12;
    private static final int HEADER_BYTES = 64;

    private final MemorySegment[] pages;
    private final int entryBytes;
    private final int size;
    private int requestsTaken;
    private int responsesMade;
    private int responsesShown;

    /** A ring that goes on where its indices are. */
    SharedRing(MemorySegment[] pages, int entryBytes) {
        this.pages = pages;
        this.entryBytes = entryBytes;
        this.size = Integer.highestOneBit((pages.length * Xen.PAGE_SIZE - HEADER_BYTES) / entryBytes);
        this.responsesMade = index(RSP_PROD);
        this.responsesShown = responsesMade;
        this.requestsTaken = responsesMade;
    }

    int size() {
        return size;
    }

    private int index(long at) {
        return (int) Xen.INTS.getVolatile(pages[0], at);
    }

    /** How many requests wait; -1 if the index makes no sense. */
    int waiting() {
        int waiting = index(REQ_PROD) - requestsTaken;
        return waiting < 0 || waiting > size || waiting + inProgress() > size ? -1 : waiting;
    }

    /** Requests that were taken and not answered. */
    private int inProgress() {
        return requestsTaken - responsesMade;
    }

    /** Copies the next request. */
    void take(MemorySegment into) {
        copy(offset(requestsTaken), into, entryBytes, false);
        requestsTaken++;
    }

    /** Asks to be told of the next request; true if there is one already. */
    boolean enableNotifications() {
        Xen.INTS.setVolatile(pages[0], REQ_EVENT, requestsTaken + 1);
        return index(REQ_PROD) != requestsTaken;
    }

    private long offset(int entry) {
        return HEADER_BYTES + (long) (entry & size - 1) * entryBytes;
    }

    /** Writes the next response, which the guest does not see yet. */
    void respond(MemorySegment from, int lengthBytes) {
        copy(offset(responsesMade), from, lengthBytes, true);
        responsesMade++;
    }

    /** Shows the responses; returns whether the guest wants to be told. */
    boolean show() {
        int old = responsesShown;
        if (old == responsesMade) {
            return false;
        }
        responsesShown = responsesMade;
        Xen.INTS.setVolatile(pages[0], RSP_PROD, responsesMade);
        int event = index(RSP_EVENT);
        return Integer.compareUnsigned(responsesMade - event, responsesMade - old) < 0;
    }

    boolean shown() {
        return responsesShown == responsesMade;
    }

    private void copy(long offset, MemorySegment other, int lengthBytes, boolean intoRing) {
        int done = 0;
        while (done < lengthBytes) {
            long at = offset + done;
            MemorySegment page = pages[(int) (at >>> Xen.PAGE_SHIFT)];
            long inPage = at & Xen.PAGE_SIZE - 1;
            long part = Math.min(lengthBytes - done, Xen.PAGE_SIZE - inPage);
            if (intoRing) {
                MemorySegment.copy(other, ValueLayout.JAVA_BYTE, done, page, ValueLayout.JAVA_BYTE, inPage, part);
            } else {
                MemorySegment.copy(page, ValueLayout.JAVA_BYTE, inPage, other, ValueLayout.JAVA_BYTE, done, part);
            }
            done += (int) part;
        }
    }
}
