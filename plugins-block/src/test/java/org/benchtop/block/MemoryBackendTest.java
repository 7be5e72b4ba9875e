package org.benchtop.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.api.Test;

final class MemoryBackendTest {
    private final FakeHostServices host = new FakeHostServices();
    private final FakeCreateContext context = new FakeCreateContext("disk0").host(host);

    private BlockBackend open(MemoryOptions options) {
        return new MemoryType().create(options, context);
    }

    @Test
    void hugeDiskTakesMemoryOnlyWhereItIsWritten() {
        long size = 1L << 44;
        try (BlockBackend backend = open(MemoryOptions.ofSize(size));
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            byte[] data = {1, 2, 3};
            byte[] block = new byte[512];
            System.arraycopy(data, 0, block, 0, 3);
            assertEquals(BlockStatus.OK, client.write(size - 512, block));
            assertEquals(BlockStatus.OK, client.writeZeroes(0, size - 512, true));

            assertArrayEquals(block, client.read(size - 512, 512));
            assertArrayEquals(new byte[512], client.read(size / 2, 512));
        }
    }

    @Test
    void initialContentIsCopiedAndTheFileReleased() {
        byte[] content = new byte[200_000];
        new java.util.Random(3).nextBytes(content);
        host.file(Path.of("/fake/image"), 0).poke(0, content);
        try (BlockBackend backend =
                        open(new MemoryOptions(Optional.of(1L << 20), Optional.of(Path.of("image")), false, 512));
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            assertEquals(0, host.file(Path.of("/fake/image")).openers());

            assertArrayEquals(java.util.Arrays.copyOf(content, 200_192), client.read(0, 200_192));
            client.write(0, new byte[512]);
        }
        assertEquals(content[0], host.file(Path.of("/fake/image")).bytes(0, 1)[0]);
    }

    @Test
    void contentLargerThanTheDiskIsRefused() {
        host.file(Path.of("/fake/image"), 4096);

        assertThrows(
                BenchtopException.class,
                () -> open(new MemoryOptions(Optional.of(2048L), Optional.of(Path.of("image")), false, 512)));
    }

    @Test
    void discardedChunkIsReusedClean() {
        try (BlockBackend backend = open(MemoryOptions.ofSize(1 << 20));
                BlockClient client = new BlockClient(backend, context.eventLoop())) {
            byte[] ones = new byte[MemoryBackend.CHUNK_BYTES];
            java.util.Arrays.fill(ones, (byte) 1);
            client.write(0, ones);
            client.discard(0, MemoryBackend.CHUNK_BYTES);
            client.write(MemoryBackend.CHUNK_BYTES, java.util.Arrays.copyOf(ones, 512));

            assertArrayEquals(new byte[1024], client.read(MemoryBackend.CHUNK_BYTES + 512, 1024));
            assertArrayEquals(new byte[1024], client.read(0, 1024));
        }
    }

    @Test
    void sizeOrFileIsRequired() {
        assertThrows(
                IllegalArgumentException.class,
                () -> new MemoryOptions(Optional.empty(), Optional.empty(), false, 512));
        assertThrows(IllegalArgumentException.class, () -> MemoryOptions.ofSize(513));
    }

    @Test
    void warmRequestsAllocateNothing() {
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(Arena.ofAuto().allocate(8192), 0, 8192);
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(Arena.ofAuto().allocate(8192), 0, 8192);
        try (BlockBackend backend = open(MemoryOptions.ofSize(1 << 20));
                BlockQueue queue = backend.openQueue(context.eventLoop())) {
            assertEquals(0, AllocationMeter.bytesPerRound(2000, () -> {
                queue.submit(write.at(61440), (request, status) -> {});
                queue.submit(read.at(61440), (request, status) -> {});
            }));
        }
    }
}
