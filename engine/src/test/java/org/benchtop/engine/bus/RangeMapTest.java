package org.benchtop.engine.bus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.testkit.FakeStats;
import org.junit.jupiter.api.Test;

class RangeMapTest {
    private final FakeStats stats = new FakeStats();
    private final RangeMap map = new RangeMap(AddressSpace.PIO, 0xffff);

    /** Answers with its tag plus the offset and remembers writes. */
    private static final class Recorder implements PioDevice {
        private final int tag;
        private final List<String> writes = new ArrayList<>();

        Recorder(int tag) {
            this.tag = tag;
        }

        @Override
        public long read(long offset, int size) {
            return tag + offset;
        }

        @Override
        public void write(long offset, int size, long value) {
            writes.add(offset + "/" + size + "=" + Long.toHexString(value));
        }
    }

    @Test
    void accessReachesTheDeviceThatClaimedItsAddress() {
        Recorder low = new Recorder(0x10);
        Recorder high = new Recorder(0x40);
        map.add("low", 0x100, 4, low, stats.counter("exits"));
        map.add("high", 0x104, 8, high, stats.counter("exits"));

        long value = map.read(0x105, 1);
        map.write(0x102, 2, 0xabcd);

        assertEquals(0x41, value);
        assertEquals(List.of("2/2=abcd"), low.writes);
        assertEquals(List.of(), high.writes);
        assertEquals(2, stats.value("exits"));
    }

    @Test
    void unclaimedBytesReadAsOnesAndSwallowWrites() {
        map.add("one", 0x80, 1, new Recorder(0x12), stats.counter("exits"));

        long alone = map.read(0x90, 4);
        long straddling = map.read(0x80, 4);
        map.write(0x90, 4, 1);

        assertEquals(0xffff_ffffL, alone);
        assertEquals(0xffff_ff12L, straddling);
    }

    @Test
    void writeAcrossTwoDevicesIsSplitIntoBytes() {
        Recorder low = new Recorder(0);
        Recorder high = new Recorder(0);
        map.add("low", 0x10, 2, low, stats.counter("exits"));
        map.add("high", 0x12, 2, high, stats.counter("exits"));

        map.write(0x11, 2, 0xbeef);

        assertEquals(List.of("1/1=ef"), low.writes);
        assertEquals(List.of("0/1=be"), high.writes);
    }

    @Test
    void overlapIsRefusedNamingBothRanges() {
        map.add("ide0", 0x1f0, 8, new Recorder(0), stats.counter("exits"));

        BenchtopException e = assertThrows(
                BenchtopException.class, () -> map.add("acme", 0x1f7, 2, new Recorder(0), stats.counter("exits")));

        assertEquals(ErrorKind.CONFIG, e.kind());
        assertEquals("range 0x1f7..+0x2 of acme overlaps 0x1f0..+0x8 of ide0 in the I/O port space", e.getMessage());
    }

    @Test
    void rangeOutsideTheSpaceIsRefused() {
        BenchtopException e = assertThrows(
                BenchtopException.class, () -> map.add("acme", 0xfffe, 4, new Recorder(0), stats.counter("exits")));

        assertEquals("range 0xfffe..+0x4 of acme is outside the I/O port space 0..0xffff", e.getMessage());
    }

    @Test
    void movedRangeIsFoundAtItsNewPlaceOnly() {
        RangeMap.Range range = map.addMovable("bar", 16, new Recorder(0x20), stats.counter("exits"));
        range.place(0xc000, true);

        range.move(0xd000);

        assertEquals(0xff, map.read(0xc000, 1));
        assertEquals(0x20, map.read(0xd000, 1));
    }

    @Test
    void guestPlacedRangeNeverCoversAFixedOne() {
        Recorder fixed = new Recorder(0x30);
        map.add("fixed", 0x60, 1, fixed, stats.counter("exits"));
        RangeMap.Range bar = map.addMovable("bar", 16, new Recorder(0x70), stats.counter("exits"));

        bar.place(0x60, true);

        assertEquals(0x30, map.read(0x60, 1));
        assertEquals("fixed", map.at(0x60).orElseThrow().owner());
    }

    @Test
    void closedRangeIsGone() {
        RangeMap.Range range = map.add("gone", 0x200, 4, new Recorder(0), stats.counter("exits"));

        range.close();

        assertTrue(map.at(0x200).isEmpty());
        assertEquals(0xff, map.read(0x200, 1));
    }
}
