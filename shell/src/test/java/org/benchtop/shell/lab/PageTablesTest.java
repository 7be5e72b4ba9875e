package org.benchtop.shell.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.testkit.FakeGuestMemory;
import org.junit.jupiter.api.Test;

/** Tables of each kind of paging, laid out by hand (Intel SDM vol. 3, chapter 5). */
class PageTablesTest {
    private static final long PG = 1L << 31;
    private static final long PE = 1;
    private static final long PSE = 1 << 4;
    private static final long PAE = 1 << 5;
    private static final long LA57 = 1 << 12;
    private static final long LMA = 1 << 10;
    private static final long NXE = 1 << 11;
    private static final long PRESENT_WRITABLE = 3;
    private static final long LARGE = 1 << 7;

    private final FakeGuestMemory memory = FakeGuestMemory.ofSize(1 << 20);

    private PageTables tables(long cr0, long cr3, long cr4, long efer) {
        SegmentRegister flat = SegmentRegister.flatCode(8, false);
        DescriptorTable none = new DescriptorTable(0, 0);
        return new PageTables(
                memory,
                new SpecialRegisters(
                        flat, flat, flat, flat, flat, flat, flat, flat, none, none, cr0, 0, cr3, cr4, 0, efer, 0));
    }

    @Test
    void withoutPagingAnAddressIsItself() {
        PageTables tables = tables(PE, 0, 0, 0);

        assertEquals("no", tables.paging());
        assertEquals(OptionalLong.of(0x1234), tables.translate(0x1234));
    }

    @Test
    void tablesOf32BitsHaveTwoLevels() throws GuestFault {
        memory.writeInt(0x1000 + 4 * 3, (int) (0x2000 | PRESENT_WRITABLE));
        memory.writeInt(0x2000 + 4 * 5, (int) (0x7_8000 | PRESENT_WRITABLE));
        PageTables tables = tables(PE | PG, 0x1000, 0, 0);

        PageWalk walk = tables.walk(3L << 22 | 5 << 12 | 0x9a);

        assertEquals("32-bit", tables.paging());
        assertEquals(2, walk.steps().size());
        assertEquals(OptionalLong.of(0x7_809a), walk.physical());
        assertEquals(OptionalLong.empty(), tables.translate(4L << 22));
        assertEquals(OptionalLong.empty(), tables.translate(1L << 32), "no 32-bit address");
    }

    @Test
    void pagesOf4MebibytesReachAbove4Gibibytes() throws GuestFault {
        // PSE-36: bits 39:32 of the frame stand in bits 20:13.
        memory.writeInt(0x1000 + 4 * 3, (int) (0x0040_0000 | 2 << 13 | LARGE | PRESENT_WRITABLE));
        long virtual = 3L << 22 | 0x12_3456;

        assertEquals(
                OptionalLong.of(0x2_0052_3456L), tables(PE | PG, 0x1000, PSE, 0).translate(virtual));
        PageWalk without = tables(PE | PG, 0x1000, 0, 0).walk(virtual);
        assertTrue(
                without.outcome().contains("the table at 00404000"), "without PSE the bit means nothing: " + without);
    }

    @Test
    void physicalAddressExtensionHasThreeLevels() throws GuestFault {
        // Its first table has 4 entries and is aligned to 32 bytes only.
        memory.writeLong(0x1020 + 8 * 2, 0x2000 | 1);
        memory.writeLong(0x2000 + 8 * 7, 0x3000 | PRESENT_WRITABLE);
        memory.writeLong(0x3000 + 8 * 9, 0x1_2345_6000L | PRESENT_WRITABLE);
        memory.writeLong(0x2000 + 8 * 8, 0x4020_0000L | LARGE | PRESENT_WRITABLE);
        PageTables tables = tables(PE | PG, 0x1020, PAE, 0);

        assertEquals("PAE", tables.paging());
        assertEquals(OptionalLong.of(0x1_2345_6abcL), tables.translate(2L << 30 | 7 << 21 | 9 << 12 | 0xabc));
        assertEquals(OptionalLong.of(0x4020_0000L + 0x1f_fff0), tables.translate(2L << 30 | 8 << 21 | 0x1f_fff0));
    }

    @Test
    void fiveLevelsReach57Bits() throws GuestFault {
        memory.writeLong(0x1000 + 8 * 0x1ff, 0x2000 | PRESENT_WRITABLE);
        memory.writeLong(0x2000 + 8, 0x3000 | PRESENT_WRITABLE);
        memory.writeLong(0x3000 + 8 * 2, 0x4000 | PRESENT_WRITABLE);
        memory.writeLong(0x4000 + 8 * 3, 0x5000 | PRESENT_WRITABLE);
        memory.writeLong(0x5000 + 8 * 4, 1L << 63 | 0x6_0000 | PRESENT_WRITABLE);
        PageTables tables = tables(PE | PG, 0x1000, PAE | LA57, LMA | NXE);
        long virtual = 0x1ffL << 48 | 1L << 39 | 2L << 30 | 3L << 21 | 4L << 12 | 0x10;
        long canonical = virtual | -1L << 57;

        PageWalk walk = tables.walk(canonical);

        assertEquals("5-level", walk.paging());
        assertEquals("PML5", walk.steps().getFirst().level());
        assertEquals(OptionalLong.of(0x6_0010), walk.physical());
        assertTrue(walk.steps().getLast().flags().contains("NX"), walk.toString());
        assertTrue(tables.walk(virtual).outcome().contains("canonical"), "bit 56 must be continued");
    }

    @Test
    void pagesOf1GibibyteEndAWalkOfFourLevelsEarly() throws GuestFault {
        memory.writeLong(0x1000, 0x2000 | PRESENT_WRITABLE);
        memory.writeLong(0x2000 + 8, 0x8000_0000L | LARGE | PRESENT_WRITABLE);
        PageTables tables = tables(PE | PG, 0x1000, PAE, LMA);

        PageWalk walk = tables.walk(1L << 30 | 0x123_4567);

        assertEquals(2, walk.steps().size());
        assertEquals(OptionalLong.of(0x8123_4567L), walk.physical());
    }

    @Test
    void tableOutsideOfMemoryIsSaid() throws GuestFault {
        memory.writeLong(0x1000, 0x7_0000_0000L | PRESENT_WRITABLE);
        PageTables tables = tables(PE | PG, 0x1000, PAE, LMA);

        PageWalk walk = tables.walk(0);

        assertEquals(OptionalLong.empty(), walk.physical());
        assertTrue(walk.outcome().contains("not in RAM"), walk.outcome());
    }
}
