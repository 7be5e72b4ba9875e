package org.benchtop.block.filter;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.CrankyBlockBackend;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;

final class OverlayBackendTest {
    private static final int SIZE = 1 << 20;

    private final FakeEventLoop loop = new FakeEventLoop();

    private static HeldBlockBackend below() {
        HeldBlockBackend disk = new HeldBlockBackend(
                        new BlockCapabilities(SIZE, 512, 512, true, false, false, CacheMode.WRITEBACK, 1024, 1 << 20))
                .automatic();
        byte[] content = new byte[SIZE];
        new Random(5).nextBytes(content);
        disk.poke(0, content);
        return disk;
    }

    @Test
    void readOnlyDriveBecomesWritableAndStaysAsItIs() {
        HeldBlockBackend below = below();
        byte[] before = below.bytes(0, SIZE);
        try (BlockBackend changes = new HeldBlockBackend(SIZE).automatic();
                BlockClient client = new BlockClient(new OverlayBackend(below, changes), loop)) {
            assertEquals(BlockStatus.OK, client.write(1024, new byte[512]));
            assertEquals(BlockStatus.OK, client.writeZeroes(4096, 4096, true));
            byte[] expected = before.clone();
            Arrays.fill(expected, 1024, 1536, (byte) 0);
            Arrays.fill(expected, 4096, 8192, (byte) 0);

            assertArrayEquals(Arrays.copyOf(expected, 16384), client.read(0, 16384));
            assertArrayEquals(before, below.bytes(0, SIZE));
        }
    }

    @Test
    void randomRequestsAgreeWithAModel() {
        HeldBlockBackend below = below();
        byte[] model = below.bytes(0, SIZE);
        Random random = new Random(9);
        try (CrankyBlockBackend lower = new CrankyBlockBackend(below, 3);
                CrankyBlockBackend changes = new CrankyBlockBackend(new HeldBlockBackend(SIZE).automatic(), 4);
                BlockClient client = new BlockClient(new OverlayBackend(lower, changes), loop)) {
            for (int i = 0; i < 2000; i++) {
                int length = 512 * (1 + random.nextInt(40));
                int at = 512 * random.nextInt((SIZE - length) / 512);
                if (random.nextInt(3) == 0) {
                    byte[] data = new byte[length];
                    random.nextBytes(data);
                    assertEquals(BlockStatus.OK, client.write(at, data));
                    System.arraycopy(data, 0, model, at, length);
                } else {
                    assertArrayEquals(Arrays.copyOfRange(model, at, at + length), client.read(at, length));
                }
            }
        }
    }

    @Test
    void errorBelowIsReportedInTheMiddleOfAMixedRead() {
        HeldBlockBackend below = below();
        CrankyBlockBackend failing = CrankyBlockBackend.asserting(below)
                .failing(request -> request.offsetBytes() == 1536 ? BlockStatus.IO_ERROR : BlockStatus.OK);
        try (BlockBackend changes = new HeldBlockBackend(SIZE).automatic();
                BlockClient client = new BlockClient(new OverlayBackend(failing, changes), loop)) {
            client.write(1024, new byte[512]);

            assertEquals(BlockStatus.IO_ERROR, client.tryRead(0, 4096));
            assertEquals(BlockStatus.OK, client.tryRead(2048, 512));
        }
    }

    @Test
    void failedWriteLeavesTheOldContent() {
        HeldBlockBackend below = below();
        CrankyBlockBackend full = CrankyBlockBackend.asserting(new HeldBlockBackend(SIZE).automatic())
                .failing(request -> BlockStatus.NO_SPACE);
        try (BlockClient client = new BlockClient(new OverlayBackend(below, full), loop)) {
            assertEquals(BlockStatus.NO_SPACE, client.write(0, new byte[4096]));
            assertArrayEquals(below.bytes(0, 4096), client.read(0, 4096));
        }
    }

    @Test
    void mapFindsRunsAcrossWordsAndRegions() {
        BlockMap map = new BlockMap(1L << 20);
        map.set(10, 200);
        map.set((1 << 15) - 3, (1 << 15) + 70);

        assertEquals(10, map.endOfRun(0, 1000, false));
        assertEquals(200, map.endOfRun(10, 1000, true));
        assertEquals((1 << 15) - 3, map.endOfRun(200, 1L << 20, false));
        assertEquals((1 << 15) + 70, map.endOfRun((1 << 15) - 3, 1L << 20, true));
        assertEquals(1L << 20, map.endOfRun((1 << 15) + 70, 1L << 20, false));
        assertTrue(map.get(199));
        assertEquals(150, map.endOfRun(20, 150, true));
    }
}
