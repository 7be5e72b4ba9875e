package org.benchtop.testkit.virtio;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Block requests (VIRTIO 1.2, 5.2.6) on a queue of a virtio block device. */
public final class FakeBlkRequests {
    /** Request type. */
    public static final int VIRTIO_BLK_T_IN = 0;
    /** Request type. */
    public static final int VIRTIO_BLK_T_OUT = 1;
    /** Request type. */
    public static final int VIRTIO_BLK_T_FLUSH = 4;
    /** Request type. */
    public static final int VIRTIO_BLK_T_GET_ID = 8;
    /** Request type. */
    public static final int VIRTIO_BLK_T_DISCARD = 11;
    /** Request type. */
    public static final int VIRTIO_BLK_T_WRITE_ZEROES = 13;

    /** Status. */
    public static final int VIRTIO_BLK_S_OK = 0;
    /** Status. */
    public static final int VIRTIO_BLK_S_IOERR = 1;
    /** Status. */
    public static final int VIRTIO_BLK_S_UNSUPP = 2;
    /** What the status byte holds until the device has answered. */
    public static final int NO_STATUS = 0xaa;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final GuestHeap heap;
    private final FakeVirtQueue queue;

    public FakeBlkRequests(GuestHeap heap, FakeVirtQueue queue) {
        this.heap = heap;
        this.queue = queue;
    }

    /** A request in guest memory, which was made available. */
    public final class Request {
        private final int head;
        private final long dataGpa;
        private final int dataBytes;
        private final long statusGpa;
        private Optional<FakeVirtQueue.Used> used = Optional.empty();

        private Request(int head, long dataGpa, int dataBytes, long statusGpa) {
            this.head = head;
            this.dataGpa = dataGpa;
            this.dataBytes = dataBytes;
            this.statusGpa = statusGpa;
        }

        /** The head of its chain. */
        public int head() {
            return head;
        }

        /** Where its data is. */
        public long dataGpa() {
            return dataGpa;
        }

        /** The status byte; {@link #NO_STATUS} before the device has answered. */
        public int status() {
            return heap.segment(statusGpa, 1).get(ValueLayout.JAVA_BYTE, 0) & 0xff;
        }

        /** The data now. */
        public byte[] data() {
            return heap.segment(dataGpa, dataBytes).toArray(ValueLayout.JAVA_BYTE);
        }

        /** Its used element, if {@link #collect} has seen it. */
        public Optional<FakeVirtQueue.Used> used() {
            return used;
        }
    }

    private final List<Request> pending = new ArrayList<>();

    /** Writes a request head and returns where it is. */
    public long header(int type, long sector) {
        long gpa = heap.allocate(16, 16);
        MemorySegment segment = heap.segment(gpa, 16);
        segment.set(INT, 0, type);
        segment.set(LONG, 8, sector);
        return gpa;
    }

    /** Writes a status byte that is not answered yet and returns where it is. */
    public long statusByte() {
        long gpa = heap.allocate(1, 1);
        heap.segment(gpa, 1).set(ValueLayout.JAVA_BYTE, 0, (byte) NO_STATUS);
        return gpa;
    }

    /** Makes a read available. */
    public Request read(long sector, int bytes) {
        long data = heap.allocate(bytes, 16);
        return submit(VIRTIO_BLK_T_IN, sector, data, bytes, true);
    }

    /** Makes a write available. */
    public Request write(long sector, byte[] bytes) {
        return submit(VIRTIO_BLK_T_OUT, sector, place(bytes), bytes.length, false);
    }

    /** Makes a flush available. */
    public Request flush() {
        return submit(VIRTIO_BLK_T_FLUSH, 0, 0, 0, false);
    }

    /** Makes a request for the serial number available. */
    public Request getId(int bytes) {
        return submit(VIRTIO_BLK_T_GET_ID, 0, heap.allocate(Math.max(1, bytes), 1), bytes, true);
    }

    /** Makes a discard or write-zeroes available; each range is sector, number of sectors and flags. */
    public Request ranges(int type, long[]... ranges) {
        byte[] bytes = new byte[16 * ranges.length];
        MemorySegment segment = MemorySegment.ofArray(bytes);
        for (int i = 0; i < ranges.length; i++) {
            segment.set(LONG, 16L * i, ranges[i][0]);
            segment.set(INT, 16L * i + 8, (int) ranges[i][1]);
            segment.set(INT, 16L * i + 12, (int) ranges[i][2]);
        }
        return submit(type, 0, place(bytes), bytes.length, false);
    }

    /** Makes a request of any type available; {@code dataBytes} 0 means no data. */
    public Request submit(int type, long sector, long dataGpa, int dataBytes, boolean deviceWrites) {
        List<FakeVirtQueue.Buffer> buffers = new ArrayList<>();
        buffers.add(FakeVirtQueue.Buffer.readable(header(type, sector), 16));
        if (dataBytes > 0) {
            buffers.add(new FakeVirtQueue.Buffer(dataGpa, dataBytes, deviceWrites));
        }
        long status = statusByte();
        buffers.add(FakeVirtQueue.Buffer.writable(status, 1));
        return track(queue.add(buffers), dataGpa, dataBytes, status);
    }

    /** Follows a chain that the test has made available itself. */
    public Request track(int head, long dataGpa, int dataBytes, long statusGpa) {
        Request request = new Request(head, dataGpa, dataBytes, statusGpa);
        pending.add(request);
        return request;
    }

    /** Puts bytes into guest memory and returns where they are. */
    public long place(byte[] bytes) {
        long gpa = heap.allocate(Math.max(1, bytes.length), 16);
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, heap.segment(gpa, bytes.length), 0, bytes.length);
        return gpa;
    }

    /** Takes all used elements and gives them to their requests; fails the test where one belongs to none. */
    public int collect() {
        int count = 0;
        for (FakeVirtQueue.Used element : queue.pollAll()) {
            Request request = pending.stream()
                    .filter(candidate -> candidate.head == element.head())
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("used element of no request: " + element));
            request.used = Optional.of(element);
            pending.remove(request);
            count++;
        }
        return count;
    }

    /** The number of requests without a used element. */
    public int pending() {
        return pending.size();
    }
}
