package org.benchtop.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeFile;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class FileBackendTest {
    private static final Path PATH = Path.of("/fake/disk.img");
    private static final int SIZE = 64 << 10;

    private final FakeHostServices host = new FakeHostServices();
    private final FakeCreateContext context = new FakeCreateContext("disk0").host(host);
    private final FakeEventLoop loop = context.eventLoop();

    private static FileOptions options(CacheMode cache) {
        FileOptions defaults = FileOptions.of(Path.of("disk.img"));
        return new FileOptions(
                defaults.file(),
                defaults.size(),
                defaults.create(),
                defaults.shrink(),
                defaults.readOnly(),
                cache,
                defaults.aio(),
                defaults.threads(),
                defaults.discard(),
                defaults.lock(),
                defaults.logicalBlockSize(),
                defaults.physicalBlockSize());
    }

    private static FileOptions sized(long size, boolean create, boolean shrink) {
        return new FileOptions(
                Path.of("disk.img"),
                Optional.of(size),
                create,
                shrink,
                false,
                CacheMode.WRITEBACK,
                HostFileOptions.Aio.AUTO,
                4,
                FileOptions.DiscardMode.UNMAP,
                true,
                512,
                Optional.empty());
    }

    private static FileOptions readOnly() {
        return new FileOptions(
                Path.of("disk.img"),
                Optional.empty(),
                false,
                false,
                true,
                CacheMode.WRITEBACK,
                HostFileOptions.Aio.AUTO,
                4,
                FileOptions.DiscardMode.UNMAP,
                true,
                512,
                Optional.empty());
    }

    private BlockBackend open(FileOptions options) {
        return new FileType().create(options, context);
    }

    private static byte[] bytes(int value, int length) {
        byte[] data = new byte[length];
        Arrays.fill(data, (byte) value);
        return data;
    }

    private static BlockRequest.Write write(MemorySegment memory, long at, long offset, long length) {
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(memory, at, length);
        return write.at(offset);
    }

    @ParameterizedTest
    @CsvSource({"WRITEBACK,true", "NONE,true", "WRITETHROUGH,false", "DIRECTSYNC,false", "UNSAFE,false"})
    void durableWriteSurvivesAPowerCut(CacheMode cache, boolean needsSync) {
        FakeFile file = host.file(PATH, SIZE);
        try (BlockBackend backend = open(options(cache));
                BlockClient client = new BlockClient(backend, loop)) {
            client.write(512, bytes(7, 512), true);

            assertEquals(
                    needsSync ? List.of("WRITE 512+512", "SYNC") : List.of("WRITE 512+512"),
                    file.trace(),
                    "host calls of a durable write");
            file.powerCut();
            if (cache != CacheMode.UNSAFE) {
                assertArrayEquals(bytes(7, 512), file.bytes(512, 512));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = CacheMode.class,
            names = {"WRITEBACK", "NONE"})
    void plainWriteIsLostInAPowerCutUntilAFlush(CacheMode cache) {
        FakeFile file = host.file(PATH, SIZE);
        try (BlockBackend backend = open(options(cache));
                BlockClient client = new BlockClient(backend, loop)) {
            client.write(0, bytes(1, 512));
            file.powerCut();
            assertArrayEquals(new byte[512], file.bytes(0, 512));

            client.write(0, bytes(2, 512));
            assertEquals(BlockStatus.OK, client.flush());
            file.powerCut();
            assertArrayEquals(bytes(2, 512), file.bytes(0, 512));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = CacheMode.class,
            names = {"WRITETHROUGH", "DIRECTSYNC"})
    void everyChangeIsDurableWhenItCompletes(CacheMode cache) {
        FakeFile file = host.file(PATH, SIZE);
        file.poke(0, bytes(9, SIZE));
        try (BlockBackend backend = open(options(cache));
                BlockClient client = new BlockClient(backend, loop)) {
            client.write(0, bytes(1, 512));
            client.writeZeroes(4096, 4096, false);
            client.writeZeroes(8192, 4096, true);

            file.powerCut();

            assertArrayEquals(bytes(1, 512), file.bytes(0, 512));
            assertArrayEquals(new byte[8192], file.bytes(4096, 8192));
            assertEquals(9, file.bytes(12288, 1)[0]);
        }
    }

    @Test
    void unsafeNeverSyncs() {
        FakeFile file = host.file(PATH, SIZE);
        BlockBackend backend = open(options(CacheMode.UNSAFE));
        try (BlockClient client = new BlockClient(backend, loop)) {
            client.write(0, bytes(1, 512), true);
            client.flush();
        }
        backend.close();

        assertFalse(file.trace().contains("SYNC"), file.trace().toString());
    }

    @Test
    void closeMakesWrittenDataDurable() {
        FakeFile file = host.file(PATH, SIZE);
        BlockBackend backend = open(options(CacheMode.WRITEBACK));
        try (BlockClient client = new BlockClient(backend, loop)) {
            client.write(0, bytes(5, 512));
        }

        backend.close();
        backend.close();
        file.powerCut();

        assertArrayEquals(bytes(5, 512), file.bytes(0, 512));
        assertEquals(0, file.openers());
    }

    @Test
    void closeWithoutWritesDoesNotSync() {
        FakeFile file = host.file(PATH, SIZE);

        open(options(CacheMode.WRITEBACK)).close();

        assertEquals(List.of(), file.trace());
    }

    @Test
    void failedSyncFailsAllLaterFlushes() {
        FakeFile file = host.file(PATH, SIZE);
        try (BlockBackend backend = open(options(CacheMode.WRITEBACK));
                BlockClient client = new BlockClient(backend, loop)) {
            file.fault((kind, offset, length) -> kind == FileOperation.Kind.SYNC ? FakeFile.EIO : 0);
            client.write(0, bytes(1, 512));
            assertEquals(BlockStatus.IO_ERROR, client.flush());
            file.fault((kind, offset, length) -> 0);

            assertEquals(BlockStatus.IO_ERROR, client.flush());
            assertEquals(BlockStatus.IO_ERROR, client.write(0, bytes(1, 512), true));
            assertEquals(BlockStatus.OK, client.tryRead(0, 512));
        }
    }

    @Test
    void fullDiskIsNoSpace() {
        FakeFile file = host.file(PATH, SIZE).capacity(4096);
        try (BlockBackend backend = open(options(CacheMode.WRITEBACK));
                BlockClient client = new BlockClient(backend, loop)) {
            assertEquals(BlockStatus.OK, client.write(0, bytes(1, 4096)));
            assertEquals(BlockStatus.NO_SPACE, client.write(4096, bytes(1, 4096)));
            assertEquals(BlockStatus.NO_SPACE, client.write(2048, bytes(2, 4096)));
            file.capacity(SIZE);
            assertEquals(BlockStatus.OK, client.write(4096, bytes(1, 4096)));
        }
    }

    @Test
    void mediumErrorIsIoError() {
        host.file(PATH, SIZE).fault((kind, offset, length) -> offset == 512 ? FakeFile.EIO : 0);
        try (BlockBackend backend = open(options(CacheMode.WRITEBACK));
                BlockClient client = new BlockClient(backend, loop)) {
            assertEquals(BlockStatus.IO_ERROR, client.tryRead(512, 512));
            assertEquals(BlockStatus.IO_ERROR, client.write(512, bytes(1, 512)));
            assertEquals(BlockStatus.OK, client.tryRead(0, 512));
        }
    }

    @Test
    void interruptedCallIsRepeated() {
        int[] interruptions = {3};
        host.file(PATH, SIZE).fault((kind, offset, length) -> interruptions[0]-- > 0 ? 4 : 0);
        try (BlockBackend backend = open(options(CacheMode.WRITEBACK));
                BlockClient client = new BlockClient(backend, loop)) {
            assertEquals(BlockStatus.OK, client.write(0, bytes(1, 512)));
            assertArrayEquals(bytes(1, 512), client.read(0, 512));
        }
    }

    @Test
    void lastPartialBlockReadsAsZeroesBeyondTheEnd() {
        FakeFile file = host.file(PATH, 0);
        file.poke(0, bytes(3, 1000));
        try (BlockBackend backend = open(options(CacheMode.WRITEBACK));
                BlockClient client = new BlockClient(backend, loop)) {
            assertEquals(1024, backend.capabilities().sizeBytes());
            byte[] expected = bytes(3, 512);
            Arrays.fill(expected, 488, 512, (byte) 0);

            assertArrayEquals(expected, client.read(512, 512));
            assertEquals(BlockStatus.OK, client.write(512, bytes(4, 512)));

            assertArrayEquals(bytes(4, 512), client.read(512, 512));
            assertEquals(1024, file.sizeBytes());
        }
    }

    @Test
    void readOfAFileThatWasCutIsAnError() {
        FakeFile file = host.file(PATH, SIZE);
        try (BlockBackend backend = open(options(CacheMode.WRITEBACK));
                BlockClient client = new BlockClient(backend, loop)) {
            file.truncate(4096);

            assertEquals(BlockStatus.IO_ERROR, client.tryRead(2048, 4096));
            assertEquals(BlockStatus.OK, client.tryRead(0, 4096));
        }
    }

    @Test
    void unalignedBufferIsBouncedOnlyWithDirectAccess() {
        FakeFile file = host.file(PATH, SIZE);
        MemorySegment memory = Arena.ofAuto().allocate(8192, 4096).fill((byte) 6);
        for (CacheMode cache : List.of(CacheMode.WRITEBACK, CacheMode.NONE)) {
            long before = context.stats().value("bounced");
            try (BlockBackend backend = open(options(cache));
                    BlockClient client = new BlockClient(backend, loop)) {
                assertEquals(BlockStatus.OK, client.submit(write(memory, 0, 0, 512)));
                assertEquals(BlockStatus.OK, client.submit(write(memory, 1, 512, 512)));
            }
            assertEquals(cache.direct() ? 1 : 0, context.stats().value("bounced") - before);
        }
        assertArrayEquals(bytes(6, 1024), file.bytes(0, 1024));
    }

    @Test
    void smallWriteOnALargeBlockReadsModifiesAndWrites() {
        FakeFile file = host.file(PATH, SIZE).directAlignment(4096);
        file.poke(0, bytes(1, SIZE));
        try (BlockBackend backend = open(options(CacheMode.NONE));
                BlockClient client = new BlockClient(backend, loop)) {
            assertEquals(4096, backend.capabilities().physicalBlockSizeBytes());

            assertEquals(BlockStatus.OK, client.write(512, bytes(2, 512)));
            assertEquals(List.of("READ 0+4096", "WRITE 0+4096"), file.trace());
            file.forgetTrace();
            assertEquals(BlockStatus.OK, client.write(3584, bytes(3, 9728)));

            assertEquals(List.of("READ 0+4096", "READ 12288+4096", "WRITE 0+16384"), file.trace());
            assertArrayEquals(bytes(1, 512), file.bytes(0, 512));
            assertArrayEquals(bytes(2, 512), file.bytes(512, 512));
            assertArrayEquals(bytes(1, 2560), file.bytes(1024, 2560));
            assertArrayEquals(bytes(3, 9728), file.bytes(3584, 9728));
            assertArrayEquals(bytes(1, 3072), file.bytes(13312, 3072));
        }
    }

    @Test
    void longUnalignedTransferGoesThroughInPieces() {
        int length = 3 * FileQueue.BOUNCE_BYTES + 1536;
        FakeFile file = host.file(PATH, 4 << 20).directAlignment(4096);
        byte[] data = new byte[length];
        new java.util.Random(1).nextBytes(data);
        try (BlockBackend backend = open(options(CacheMode.NONE));
                BlockClient client = new BlockClient(backend, loop)) {
            assertEquals(BlockStatus.OK, client.write(1024, data));

            assertArrayEquals(data, client.read(1024, length));
        }
        assertArrayEquals(data, file.bytes(1024, length));
        assertArrayEquals(new byte[1024], file.bytes(0, 1024));
    }

    @Test
    void writesToOneHostBlockDoNotUndoEachOther() {
        FakeFile file = host.file(PATH, SIZE).directAlignment(4096).completion(FakeFile.Completion.HELD);
        FakeEventLoop second = new FakeEventLoop("io1", loop.clock());
        MemorySegment memory = Arena.ofAuto().allocate(8192, 4096);
        memory.asSlice(0, 4096).fill((byte) 1);
        memory.asSlice(4096, 512).fill((byte) 2);
        List<BlockStatus> statuses = new ArrayList<>();
        try (BlockBackend backend = open(options(CacheMode.NONE));
                BlockQueue small = backend.openQueue(loop);
                BlockQueue whole = backend.openQueue(second)) {
            loop.call(() -> small.submit(write(memory, 4096, 512, 512), (request, status) -> statuses.add(status)));
            second.call(() -> whole.submit(write(memory, 0, 0, 4096), (request, status) -> statuses.add(status)));

            assertEquals(1, file.held(), "the whole-block write must wait for the read-modify-write");
            while (statuses.size() < 2) {
                if (file.held() > 0) {
                    file.completeNewestHeld();
                }
                loop.runPending();
                second.runPending();
            }
            assertArrayEquals(bytes(1, 4096), file.bytes(0, 4096));
        }
        assertEquals(List.of(BlockStatus.OK, BlockStatus.OK), statuses);
    }

    @Test
    void moreBouncedRequestsThanBuffersAllComplete() {
        FakeFile file = host.file(PATH, 1 << 20).directAlignment(4096).completion(FakeFile.Completion.HELD);
        MemorySegment memory = Arena.ofAuto().allocate(512).fill((byte) 4);
        List<BlockStatus> statuses = new ArrayList<>();
        try (BlockBackend backend = open(options(CacheMode.NONE));
                BlockQueue queue = backend.openQueue(loop)) {
            loop.call(() -> {
                for (int i = 0; i < 200; i++) {
                    queue.submit(write(memory, 0, i * 512L, 512), (request, status) -> statuses.add(status));
                }
            });
            for (int i = 0; i < 2000 && statuses.size() < 200; i++) {
                if (file.held() > 0) {
                    file.completeNewestHeld();
                }
                loop.runPending();
            }
        }
        assertEquals(200, statuses.size());
        assertArrayEquals(bytes(4, 200 * 512), file.bytes(0, 200 * 512));
    }

    @Test
    void zeroRangeFallsBackToWritingZeroes() {
        FakeFile file = host.file(PATH, SIZE)
                .fault((kind, offset, length) ->
                        kind == FileOperation.Kind.ZERO_RANGE || kind == FileOperation.Kind.PUNCH_HOLE
                                ? FakeFile.EOPNOTSUPP
                                : 0);
        file.poke(0, bytes(1, SIZE));
        try (BlockBackend backend = open(options(CacheMode.WRITEBACK));
                BlockClient client = new BlockClient(backend, loop)) {
            assertEquals(BlockStatus.OK, client.writeZeroes(512, 1024, true));
            assertEquals(BlockStatus.OK, client.writeZeroes(4096, 1024, false));
            assertEquals(BlockStatus.OK, client.discard(0, 512));
        }
        assertEquals(
                List.of("PUNCH_HOLE 512+1024", "ZERO_RANGE 512+1024", "WRITE 512+1024", "WRITE 4096+1024", "SYNC"),
                file.trace());
        assertArrayEquals(new byte[1024], file.bytes(512, 1024));
        assertEquals(1, file.bytes(0, 1)[0]);
    }

    @Test
    void zeroesOnABlockDeviceAreNeverADiscard() {
        FakeFile file = host.file(PATH, SIZE).blockDevice(true);
        try (BlockBackend backend = open(options(CacheMode.NONE));
                BlockClient client = new BlockClient(backend, loop)) {
            client.writeZeroes(0, 4096, true);
        }
        assertEquals("ZERO_RANGE 0+4096", file.trace().getFirst());
    }

    @Test
    void newFileIsCreatedSparseWithTheGivenSize() {
        try (BlockBackend backend = open(sized(1 << 20, true, false))) {
            assertEquals(1 << 20, backend.capabilities().sizeBytes());
        }
        assertEquals(1 << 20, host.file(PATH).sizeBytes());
        assertEquals(0, host.file(PATH).allocatedBytes());
    }

    @Test
    void existingFileKeepsItsDataUnderCreate() {
        host.file(PATH, 0).poke(0, bytes(8, 1024));

        try (BlockBackend backend = open(sized(4096, true, false))) {
            assertEquals(4096, backend.capabilities().sizeBytes());
        }

        assertArrayEquals(bytes(8, 1024), host.file(PATH).bytes(0, 1024));
    }

    @Test
    void smallerSizeIsRefusedUnlessShrinkIsOn() {
        FakeFile file = host.file(PATH, 8192);

        BenchtopException error = assertThrows(BenchtopException.class, () -> open(sized(4096, false, false)));

        assertTrue(error.toString().contains("shrink: on"), error.toString());
        assertEquals(8192, file.sizeBytes());
        assertEquals(0, file.openers());
        open(sized(4096, false, true)).close();
        assertEquals(4096, file.sizeBytes());
    }

    @Test
    void missingFileIsNamed() {
        BenchtopException error =
                assertThrows(BenchtopException.class, () -> open(FileOptions.of(Path.of("disk.img"))));

        assertTrue(error.toString().contains("disk.img"), error.toString());
    }

    @Test
    void emptyFileIsRefused() {
        host.file(PATH, 0);

        assertThrows(BenchtopException.class, () -> open(FileOptions.of(Path.of("disk.img"))));
        assertEquals(0, host.file(PATH).openers());
    }

    @Test
    void fileThatDirectAccessCannotCoverIsRefused() {
        host.file(PATH, 4096 + 512).directAlignment(4096);

        BenchtopException error = assertThrows(BenchtopException.class, () -> open(options(CacheMode.NONE)));

        assertTrue(error.toString().contains("cache=writeback"), error.toString());
    }

    @Test
    void twoWritersRefuseAndReadersShare() {
        host.file(PATH, SIZE);
        BlockBackend writer = open(options(CacheMode.WRITEBACK));
        assertThrows(BenchtopException.class, () -> open(options(CacheMode.WRITEBACK)));
        assertThrows(BenchtopException.class, () -> open(readOnly()));
        writer.close();

        BlockBackend reader = open(readOnly());
        BlockBackend another = open(readOnly());
        assertThrows(BenchtopException.class, () -> open(options(CacheMode.WRITEBACK)));
        reader.close();
        another.close();
    }

    @Test
    void contradictingOptionsAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> sized(1000, true, false));
        assertThrows(
                IllegalArgumentException.class,
                () -> new FileOptions(
                        PATH,
                        Optional.empty(),
                        true,
                        false,
                        false,
                        CacheMode.NONE,
                        HostFileOptions.Aio.AUTO,
                        4,
                        FileOptions.DiscardMode.IGNORE,
                        true,
                        512,
                        Optional.empty()));
    }

    @Test
    void descriptionNamesFileCacheAndMethod() {
        host.file(PATH, SIZE);
        try (BlockBackend backend = open(options(CacheMode.NONE))) {
            assertEquals("/fake/disk.img raw, cache=none, aio=threads:4", backend.describe());
        }
    }

    @ParameterizedTest
    @CsvSource({"WRITEBACK,0", "NONE,0", "NONE,1", "WRITETHROUGH,0"})
    void warmRequestsAllocateNothing(CacheMode cache, int misalignment) {
        host.file(PATH, SIZE).directAlignment(4096).hollow(true);
        MemorySegment memory = Arena.ofAuto().allocate(16384, 4096);
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(memory, misalignment, 4096);
        BlockRequest.Write write = write(memory, misalignment, 4096, 4096 - 512 * misalignment);
        BlockRequest.Flush flush = new BlockRequest.Flush();
        try (BlockBackend backend = open(options(cache));
                BlockQueue queue = backend.openQueue(loop)) {
            long[] left = new long[1];
            loop.call(() -> left[0] = AllocationMeter.bytesPerRound(1000, () -> {
                queue.submit(read.at(8192), (request, status) -> {});
                queue.submit(write.at(4096, true), (request, status) -> {});
                queue.submit(flush, (request, status) -> {});
                queue.kick();
            }));
            assertEquals(0, left[0], "bytes for 1000 requests of each kind");
        }
    }
}
