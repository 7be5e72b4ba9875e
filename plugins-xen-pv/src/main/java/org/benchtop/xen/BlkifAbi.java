package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Where the fields of requests and responses are (io/blkif.h): the 64-bit and the 32-bit layout. */
enum BlkifAbi {
    X86_64("x86_64-abi", 112, 8, 16, 24, 24, 28, 16),
    X86_32("x86_32-abi", 108, 4, 12, 20, 20, 24, 12);

    static final int READ = 0;
    static final int WRITE = 1;
    static final int WRITE_BARRIER = 2;
    static final int FLUSH_DISKCACHE = 3;
    static final int DISCARD = 5;
    static final int INDIRECT = 6;

    static final int OKAY = 0;
    static final int ERROR = -1;
    static final int EOPNOTSUPP = -2;

    static final int MAX_SEGMENTS = 11;
    static final int MAX_INDIRECT_PAGES = 8;
    static final int SEGMENT_BYTES = 8;
    static final int SEGMENTS_PER_PAGE = Xen.PAGE_SIZE / SEGMENT_BYTES;
    static final int DISCARD_SECURE = 1;

    final String text;
    final int entryBytes;
    private final int id;
    private final int sector;
    private final int segments;
    private final int discardSectors;
    private final int indirectPages;
    final int responseBytes;

    BlkifAbi(
            String text,
            int entryBytes,
            int id,
            int sector,
            int segments,
            int discardSectors,
            int indirectPages,
            int responseBytes) {
        this.text = text;
        this.entryBytes = entryBytes;
        this.id = id;
        this.sector = sector;
        this.segments = segments;
        this.discardSectors = discardSectors;
        this.indirectPages = indirectPages;
        this.responseBytes = responseBytes;
    }

    static Optional<BlkifAbi> parse(String text) {
        for (BlkifAbi abi : values()) {
            if (abi.text.equals(text)) {
                return Optional.of(abi);
            }
        }
        return Optional.empty();
    }

    static int operation(MemorySegment request) {
        return request.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0) & 0xff;
    }

    /** The number of segments of a direct request, the flag of a discard, the operation inside an indirect request. */
    static int second(MemorySegment request) {
        return request.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 1) & 0xff;
    }

    static int indirectSegments(MemorySegment request) {
        return request.get(Xen.SHORT, 2) & 0xffff;
    }

    long id(MemorySegment request) {
        return request.get(Xen.LONG, id);
    }

    long sector(MemorySegment request) {
        return request.get(Xen.LONG, sector);
    }

    long discardSectors(MemorySegment request) {
        return request.get(Xen.LONG, discardSectors);
    }

    int indirectPage(MemorySegment request, int index) {
        return request.get(Xen.INT, indirectPages + 4L * index);
    }

    /** Where a segment of a direct request is. */
    long segment(int index) {
        return segments + (long) SEGMENT_BYTES * index;
    }

    static void response(MemorySegment response, long id, int operation, int status) {
        response.set(Xen.LONG, 0, id);
        response.set(java.lang.foreign.ValueLayout.JAVA_BYTE, 8, (byte) operation);
        response.set(Xen.SHORT, 10, (short) status);
    }
}
