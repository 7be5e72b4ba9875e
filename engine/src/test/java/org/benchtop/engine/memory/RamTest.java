package org.benchtop.engine.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.memory.DirtyLog;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.IoVector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RamTest {
    private static final long HOLE = 0x1_0000;
    private static final long FOUR_GIB = 1L << 32;

    private final Arena arena = Arena.ofConfined();
    private final List<String> written = new ArrayList<>();
    private boolean dirtyLogging;
    private final Ram ram = new Ram(
            RamLayout.around(arena.allocate(0x3_0000, 4096), HOLE),
            (gpa, length) -> written.add(Long.toHexString(gpa) + "+" + length),
            new Ram.DirtySource() {
                @Override
                public void enable(boolean enabled) {
                    dirtyLogging = enabled;
                }

                @Override
                public void collect(PageDirtyLog log) {
                    log.mark(0x5000, 1);
                }
            });

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void ramContinuesBehindTheHole() throws GuestFault {
        ram.writeLong(FOUR_GIB, 0x1122334455667788L);

        assertEquals(0x1122334455667788L, ram.readLong(FOUR_GIB));
        assertEquals((byte) 0x88, ram.readByte(FOUR_GIB));
        assertEquals(0x3_0000, ram.sizeBytes());
        assertEquals(HOLE, ram.regions().getFirst().endGpa());
    }

    @Test
    void accessOutsideRamIsATypedFault() {
        for (long gpa :
                new long[] {-1, HOLE, HOLE - 4, FOUR_GIB - 1, FOUR_GIB + 0x2_0000 - 4, Long.MAX_VALUE, Long.MIN_VALUE
                }) {
            GuestFault fault = assertThrows(GuestFault.class, () -> ram.readLong(gpa));
            assertEquals(gpa, fault.gpa());
            assertThrows(GuestFault.class, () -> ram.writeLong(gpa, 1));
            assertThrows(GuestFault.class, () -> ram.slice(gpa, 8));
            assertThrows(GuestFault.class, () -> ram.appendTo(new IoVector(), gpa, 8));
            assertFalse(ram.isRam(gpa, 8));
        }
        assertEquals(List.of(), written);
    }

    @Test
    void absurdLengthsAreFaults() {
        for (long length : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE, HOLE + 1}) {
            assertThrows(GuestFault.class, () -> ram.slice(0, length));
            assertFalse(ram.isRam(0, length));
        }
    }

    @Test
    void sliceIsTheGuestsMemoryInPlace() throws GuestFault {
        ram.slice(0x100, 4).fill((byte) 7);

        assertEquals(0x07070707, ram.readInt(0x100));
    }

    @Test
    void copiesReportWhatTheyWrote() throws GuestFault {
        ram.write(0x200, new byte[] {9, 1, 2, 3, 9}, 1, 3);

        byte[] back = new byte[3];
        ram.read(0x200, back, 0, 3);
        assertArrayEquals(new byte[] {1, 2, 3}, back);
        assertEquals(List.of("200+3"), written);
    }

    @Test
    void writtenVectorIsReportedByGuestAddress() throws GuestFault {
        IoVector vector = new IoVector();
        ram.appendTo(vector, 0x300, 16);
        ram.appendTo(vector, FOUR_GIB + 0x1000, 32);

        ram.written(vector);

        assertEquals(List.of("300+16", "100001000+32"), written);
    }

    @Test
    void dirtyLogJoinsDeviceAndVcpuWrites() {
        List<String> ranges = new ArrayList<>();
        try (DirtyLog log = ram.trackDirty()) {
            assertTrue(dirtyLogging);
            ram.written(0x4ff0, 8);
            ram.written(FOUR_GIB + 0x1ffff, 1);

            log.drain((gpa, length) -> ranges.add(Long.toHexString(gpa) + "+" + length));
        }

        assertEquals(List.of("4000+8192", "10001f000+4096"), ranges);
        assertFalse(dirtyLogging);
    }

    @Test
    void drainedPagesAreForgotten() {
        List<String> ranges = new ArrayList<>();
        try (DirtyLog log = ram.trackDirty()) {
            ram.written(0x9000, 1);
            log.drain((gpa, length) -> {});

            log.drain((gpa, length) -> ranges.add(Long.toHexString(gpa)));
        }

        assertEquals(List.of("5000"), ranges, "only what the vCPU wrote again");
    }
}
