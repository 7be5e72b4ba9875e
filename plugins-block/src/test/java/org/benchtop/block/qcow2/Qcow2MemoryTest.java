package org.benchtop.block.qcow2;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.image.Image;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.junit.jupiter.api.Test;

/** What an image of a very large disk takes of the host's memory. */
final class Qcow2MemoryTest {
    private static final long TIB = 1L << 40;
    private static final long MIB = 1L << 20;

    @Test
    void sparseDiskOfOneTebibyteTakesAtMost64Mebibytes() {
        TestImages images = new TestImages();
        images.create("disk.qcow2", TIB, Map.of());
        FakeCreateContext context = images.context();
        // One write for each slice of the L2 tables, so that many more slices are used than the cache holds.
        long slice = 4096 / 8 * 65536L;
        long least = Long.MAX_VALUE;
        long most = 0;
        try (Image image = new Qcow2Format()
                        .open(TestImages.how("disk.qcow2", true, org.benchtop.spi.block.CacheMode.WRITEBACK), context);
                BlockClient client = new BlockClient(image, new FakeEventLoop())) {
            MemorySegment sector = Arena.ofAuto().allocate(512, 4096);
            sector.fill((byte) 7);
            for (long at = 0; at < TIB; at += 3 * slice) {
                BlockRequest.Write write = new BlockRequest.Write();
                write.buffer().add(sector, 0, 512);
                assertEquals(BlockStatus.OK, client.submit(write.at(at)));
                long now = context.stats().value("table-memory");
                least = Math.min(least, now);
                most = Math.max(most, now);
            }
        }

        assertTrue(least < 4 * MIB, "an image that is hardly used takes " + least);
        assertTrue(most >= 32 * MIB, "the cache was not filled: " + most);
        assertTrue(most <= 64 * MIB, "a disk of 1 TiB takes " + most);
    }
}
