package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostFileOptions.Aio;
import org.benchtop.spi.host.HostFileOptions.Lock;
import org.benchtop.spi.host.HostFileQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class LinuxFileTest {
    private static final long TIMEOUT_SECONDS = 60;

    private final LinuxHost host = new LinuxHost();
    private final LinuxEventLoop loop = LinuxEventLoop.start("files");
    private final Arena arena = Arena.ofShared();
    /** In the build's folder: the system's temporary one may be a tmpfs, which knows no O_DIRECT. */
    private Path folder = Path.of("target", "file-tests");

    private Path file = folder.resolve("unset");

    @BeforeEach
    void createFolder() throws IOException {
        folder = Files.createTempDirectory(Files.createDirectories(folder), "t").toAbsolutePath();
        file = folder.resolve("disk.img");
    }

    @AfterEach
    void cleanUp() throws IOException {
        loop.close();
        arena.close();
        try (var paths = Files.list(folder)) {
            for (Path path : paths.toList()) {
                Files.delete(path);
            }
        }
        Files.delete(folder);
    }

    private HostFileOptions options(boolean writable, boolean direct, Lock lock, Aio aio) {
        return new HostFileOptions(file, writable, false, direct, false, lock, aio, 4);
    }

    private HostFile open(Aio aio) {
        return host.openFile(options(true, false, Lock.NONE, aio));
    }

    /** Submits on the loop and waits for the result. */
    private long run(HostFileQueue queue, FileOperation.Kind kind, long offset, long length, MemorySegment... buffers)
            throws InterruptedException {
        Semaphore done = new Semaphore(0);
        long[] result = {Long.MIN_VALUE};
        FileOperation operation = new FileOperation((completed, value) -> {
            assertTrue(loop.inLoop());
            result[0] = value;
            done.release();
        });
        operation.set(kind, offset, length);
        for (MemorySegment buffer : buffers) {
            operation.vector().add(buffer, 0, buffer.byteSize());
        }
        loop.execute(() -> {
            queue.submit(operation);
            queue.kick();
        });
        assertTrue(done.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS), "no completion");
        assertEquals(0, done.availablePermits());
        return result[0];
    }

    private MemorySegment segment(int bytes, long seed) {
        MemorySegment segment = arena.allocate(bytes, 4096);
        byte[] content = new byte[bytes];
        new Random(seed).nextBytes(content);
        segment.copyFrom(MemorySegment.ofArray(content));
        return segment;
    }

    private static byte[] bytes(MemorySegment segment) {
        return segment.toArray(ValueLayout.JAVA_BYTE);
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void writtenVectorReadsBackAndLands(Aio aio) throws Exception {
        Files.write(file, new byte[8192]);
        MemorySegment first = segment(100, 1);
        MemorySegment second = segment(5000, 2);
        MemorySegment back = arena.allocate(6000, 4096);
        try (HostFile disk = open(aio);
                HostFileQueue queue = disk.openQueue(loop)) {
            assertEquals(aio, disk.aio());

            assertEquals(5100, run(queue, FileOperation.Kind.WRITE, 7, 0, first, second));
            assertEquals(0, run(queue, FileOperation.Kind.SYNC, 0, 0));
            assertEquals(6000, run(queue, FileOperation.Kind.READ, 0, 0, back));

            byte[] expected = new byte[6000];
            System.arraycopy(bytes(first), 0, expected, 7, 100);
            System.arraycopy(bytes(second), 0, expected, 107, 5000);
            assertArrayEquals(expected, bytes(back));
            assertArrayEquals(expected, Arrays.copyOf(Files.readAllBytes(file), 6000));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void readAtTheEndIsShort(Aio aio) throws Exception {
        Files.write(file, new byte[1000]);
        try (HostFile disk = open(aio);
                HostFileQueue queue = disk.openQueue(loop)) {
            assertEquals(300, run(queue, FileOperation.Kind.READ, 700, 0, segment(4096, 1)));
            assertEquals(0, run(queue, FileOperation.Kind.READ, 1000, 0, segment(4096, 1)));
            assertEquals(0, run(queue, FileOperation.Kind.READ, 1 << 20, 0, segment(4096, 1)));
        }
    }

    @ParameterizedTest
    @CsvSource({"THREADS,false", "NATIVE,true", "IO_URING,false"})
    void emptyVectorTransfersNothing(Aio aio, boolean direct) throws Exception {
        Files.write(file, new byte[4096]);
        try (HostFile disk = openOrSkip(options(true, direct, Lock.NONE, aio));
                HostFileQueue queue = disk.openQueue(loop)) {
            assertEquals(0, run(queue, FileOperation.Kind.READ, 0, 0));
            assertEquals(0, run(queue, FileOperation.Kind.WRITE, 0, 0));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void vectorLongerThanTheKernelTakesIsSplit(Aio aio) throws Exception {
        int elements = 3000;
        Files.write(file, new byte[0]);
        MemorySegment source = segment(elements * 16, 3);
        MemorySegment back = arena.allocate(elements * 16L);
        try (HostFile disk = open(aio);
                HostFileQueue queue = disk.openQueue(loop)) {
            MemorySegment[] parts = new MemorySegment[elements];
            MemorySegment[] backParts = new MemorySegment[elements];
            for (int i = 0; i < elements; i++) {
                // Backwards, so that neighbours are not merged.
                int at = elements - 1 - i;
                parts[i] = source.asSlice(at * 16L, 16);
                backParts[i] = back.asSlice(at * 16L, 16);
            }

            assertEquals(elements * 16L, run(queue, FileOperation.Kind.WRITE, 5, 0, parts));
            assertEquals(elements * 16L, run(queue, FileOperation.Kind.READ, 5, 0, backParts));

            assertArrayEquals(bytes(source), bytes(back));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void punchedAndZeroedRangesReadAsZeroes(Aio aio) throws Exception {
        byte[] content = new byte[64 * 1024];
        new Random(5).nextBytes(content);
        Files.write(file, content);
        try (HostFile disk = open(aio);
                HostFileQueue queue = disk.openQueue(loop)) {
            assertEquals(0, run(queue, FileOperation.Kind.PUNCH_HOLE, 4096, 8192));
            long zeroed = run(queue, FileOperation.Kind.ZERO_RANGE, 30_000, 5000);
            Assumptions.assumeTrue(zeroed != -Errno.EOPNOTSUPP, "this file system cannot zero ranges");
            assertEquals(0, zeroed);

            Arrays.fill(content, 4096, 4096 + 8192, (byte) 0);
            Arrays.fill(content, 30_000, 35_000, (byte) 0);
            assertArrayEquals(content, Files.readAllBytes(file));
        }
    }

    @ParameterizedTest
    @CsvSource({"THREADS,false", "THREADS,true", "NATIVE,true", "IO_URING,false", "IO_URING,true"})
    void randomOperationsMatchAModel(Aio aio, boolean direct) throws Exception {
        int block = 4096;
        int blocks = 128;
        int slots = 32;
        byte[] model = new byte[blocks * block];
        Files.write(file, model);
        Random random = new Random(11);
        try (HostFile disk = openOrSkip(options(true, direct, Lock.EXCLUSIVE, aio));
                HostFileQueue queue = disk.openQueue(loop)) {
            assertTrue(block % disk.offsetAlignmentBytes() == 0);
            RandomLoad load = new RandomLoad(queue, model, random, slots, block);
            loop.execute(load::fill);
            assertTrue(load.finished.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS), "stuck after " + load.completed);
            assertEquals("", load.problem);
            disk.sync();
        }
        assertArrayEquals(model, Files.readAllBytes(file));
    }

    private HostFile openOrSkip(HostFileOptions options) {
        try {
            return host.openFile(options);
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.getMessage().contains("O_DIRECT"), e.getMessage());
            throw e;
        }
    }

    /** Keeps many operations on distinct blocks in flight and checks each read against the model. */
    private final class RandomLoad {
        private static final int TOTAL = 5_000;

        private final HostFileQueue queue;
        private final byte[] model;
        private final Random random;
        private final int block;
        private final boolean[] busy;
        private final List<FileOperation> idle = new ArrayList<>();
        private final Semaphore finished = new Semaphore(0);
        private String problem = "";
        private int submitted;
        private int completed;

        RandomLoad(HostFileQueue queue, byte[] model, Random random, int slots, int block) {
            this.queue = queue;
            this.model = model;
            this.random = random;
            this.block = block;
            this.busy = new boolean[model.length / block];
            for (int i = 0; i < slots; i++) {
                MemorySegment buffer = segment(3 * block, i);
                FileOperation operation = new FileOperation(this::completed);
                // Three pieces with a gap, so that there is a real vector.
                operation.vector().add(buffer, 0, block / 2);
                operation.vector().add(buffer, block, block / 2);
                idle.add(operation);
            }
        }

        private void fill() {
            while (!idle.isEmpty() && submitted < TOTAL) {
                int at = random.nextInt(busy.length);
                if (busy[at]) {
                    continue;
                }
                busy[at] = true;
                FileOperation operation = idle.removeLast();
                boolean write = random.nextBoolean();
                if (write) {
                    byte[] content = new byte[block];
                    random.nextBytes(content);
                    operation.vector().copyFrom(0, MemorySegment.ofArray(content), 0, block);
                    System.arraycopy(content, 0, model, at * block, block);
                } else {
                    operation.vector().fill(0, block, (byte) 0x5a);
                }
                operation.set(write ? FileOperation.Kind.WRITE : FileOperation.Kind.READ, (long) at * block, block);
                submitted++;
                queue.submit(operation);
            }
            queue.kick();
        }

        private void completed(FileOperation operation, long result) {
            completed++;
            int at = (int) (operation.offsetBytes() / block);
            busy[at] = false;
            if (result != block) {
                problem = operation.kind() + " at block " + at + " gave " + result;
            } else if (operation.kind() == FileOperation.Kind.READ) {
                byte[] got = new byte[block];
                operation.vector().copyTo(0, MemorySegment.ofArray(got), 0, block);
                if (!Arrays.equals(got, 0, block, model, at * block, (at + 1) * block)) {
                    problem = "wrong data at block " + at;
                }
            }
            idle.add(operation);
            if (completed == TOTAL) {
                finished.release();
            } else {
                fill();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void chainOfReadsNeedsNoStack(Aio aio) throws Exception {
        Files.write(file, new byte[4096]);
        int links = 20_000;
        Semaphore done = new Semaphore(0);
        MemorySegment buffer = segment(512, 1);
        try (HostFile disk = open(aio);
                HostFileQueue queue = disk.openQueue(loop)) {
            int[] left = {links};
            FileOperation operation = new FileOperation((completed, result) -> {
                if (result != 512 || --left[0] == 0) {
                    done.release();
                } else {
                    queue.submit(completed);
                    queue.kick();
                }
            });
            operation.set(FileOperation.Kind.READ, 0, 512).vector().add(buffer, 0, 512);
            loop.execute(() -> {
                queue.submit(operation);
                queue.kick();
            });
            assertTrue(done.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS));
            assertEquals(0, left[0]);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void completionThatThrowsDoesNotLoseOthers(Aio aio) throws Exception {
        Files.write(file, new byte[64 * 1024]);
        Semaphore done = new Semaphore(0);
        try (HostFile disk = open(aio);
                HostFileQueue queue = disk.openQueue(loop)) {
            loop.execute(() -> {
                for (int i = 0; i < 8; i++) {
                    FileOperation operation = new FileOperation((completed, result) -> {
                        done.release();
                        throw new IllegalStateException("expected by a test");
                    });
                    operation
                            .set(FileOperation.Kind.WRITE, i * 512L, 512)
                            .vector()
                            .add(segment(512, i), 0, 512);
                    queue.submit(operation);
                }
                queue.kick();
            });
            assertTrue(done.tryAcquire(8, TIMEOUT_SECONDS, TimeUnit.SECONDS));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void errorsAreNegativeErrnos(Aio aio) throws Exception {
        Files.write(file, new byte[4096]);
        try (HostFile disk = host.openFile(options(false, false, Lock.NONE, aio));
                HostFileQueue queue = disk.openQueue(loop)) {
            assertEquals(-Errno.EBADF, run(queue, FileOperation.Kind.WRITE, 0, 0, segment(512, 1)));
            assertEquals(-Errno.EBADF, run(queue, FileOperation.Kind.PUNCH_HOLE, 0, 4096));
        }
    }

    @Test
    void autoTakesAMethodThatWorks() throws Exception {
        Files.write(file, new byte[4096]);
        try (HostFile disk = open(Aio.AUTO);
                HostFileQueue queue = disk.openQueue(loop)) {
            assertTrue(disk.aio() != Aio.AUTO);
            assertEquals(512, run(queue, FileOperation.Kind.READ, 0, 0, segment(512, 1)));
        }
    }

    @Test
    void nativeWithoutDirectIsRefused() throws Exception {
        Files.write(file, new byte[4096]);

        BenchtopException failure = assertThrows(BenchtopException.class, () -> open(Aio.NATIVE));

        assertEquals(ErrorKind.CONFIG, failure.kind());
        assertTrue(failure.getMessage().contains("allowed: threads, io_uring, auto"), failure.getMessage());
    }

    @Test
    void nativeErrorsAndEndAreReported() throws Exception {
        Files.write(file, new byte[6000]);
        try (HostFile disk = openOrSkip(options(false, true, Lock.NONE, Aio.NATIVE));
                HostFileQueue queue = disk.openQueue(loop)) {
            assertEquals(1904, run(queue, FileOperation.Kind.READ, 4096, 0, segment(4096, 1)));
            assertEquals(-Errno.EBADF, run(queue, FileOperation.Kind.WRITE, 0, 0, segment(4096, 1)));
            assertEquals(0, run(queue, FileOperation.Kind.SYNC, 0, 0));
            assertEquals(4096, run(queue, FileOperation.Kind.READ, 0, 0, segment(4096, 1)));
        }
    }

    @Test
    void fullDeviceGivesEnospc() throws Exception {
        int fd = LibC.open("/dev/full", LibC.O_RDWR | LibC.O_CLOEXEC, 0);
        Assumptions.assumeTrue(fd >= 0, "no /dev/full");
        try (LinuxFile full = new LinuxFile("/dev/full", fd, false, false, DirectAlignment.NONE, Aio.THREADS, 1);
                HostFileQueue queue = full.openQueue(loop)) {
            assertEquals(-Errno.ENOSPC, run(queue, FileOperation.Kind.WRITE, 0, 0, segment(512, 1)));

            BenchtopException failure = assertThrows(BenchtopException.class, () -> full.write(0, segment(512, 1)));
            assertTrue(failure.getMessage().startsWith("/dev/full: write at 0: ENOSPC"), failure.getMessage());
        }
    }

    @Test
    void waitingReadsAndWritesWorkFromHeapMemory() throws Exception {
        try (HostFile disk =
                host.openFile(new HostFileOptions(file, true, true, false, true, Lock.EXCLUSIVE, Aio.THREADS, 1))) {
            disk.resize(10_000);
            disk.write(100, MemorySegment.ofArray("hello".getBytes(java.nio.charset.StandardCharsets.UTF_8)));
            byte[] back = new byte[8];

            assertEquals(8, disk.read(99, MemorySegment.ofArray(back)));

            assertArrayEquals(new byte[] {0, 'h', 'e', 'l', 'l', 'o', 0, 0}, back);
            assertEquals(10_000, disk.sizeBytes());
            assertEquals(3, disk.read(9_997, segment(100, 1)));
            assertEquals(0, disk.read(20_000, segment(100, 1)));
            disk.sync();
        }
    }

    @Test
    void directFileReadsAnyRangeWaiting() throws Exception {
        byte[] content = new byte[10_000];
        new Random(3).nextBytes(content);
        Files.write(file, content);
        try (HostFile disk = openOrSkip(options(true, true, Lock.NONE, Aio.THREADS))) {
            byte[] back = new byte[5000];
            assertEquals(5000, disk.read(333, MemorySegment.ofArray(back)));
            assertArrayEquals(Arrays.copyOfRange(content, 333, 5333), back);
            assertEquals(1000, disk.read(9000, MemorySegment.ofArray(back)));
            assertArrayEquals(Arrays.copyOfRange(content, 9000, 10_000), Arrays.copyOf(back, 1000));
            assertEquals(0, disk.read(10_000, MemorySegment.ofArray(back)));

            if (disk.offsetAlignmentBytes() > 1) {
                BenchtopException failure =
                        assertThrows(BenchtopException.class, () -> disk.write(1, MemorySegment.ofArray(new byte[10])));
                assertTrue(failure.getMessage().contains("not aligned"), failure.getMessage());
            }
        }
    }

    @Test
    void alignmentFoundByReadingServesDirectReads() throws Exception {
        Files.write(file, new byte[16384]);
        int fd = LibC.open(file.toString(), LibC.O_RDONLY | LibC.O_DIRECT | LibC.O_CLOEXEC, 0);
        Assumptions.assumeTrue(fd >= 0, "no O_DIRECT here");
        try {
            DirectAlignment found = DirectAlignment.byReading(fd, arena);
            MemorySegment buffer = arena.allocate(found.offsetBytes(), found.memoryBytes());

            assertEquals(
                    found.offsetBytes(), LibC.pread(fd, buffer.address(), found.offsetBytes(), found.offsetBytes()));
        } finally {
            LibC.close(fd);
        }
    }

    @Test
    void secondWriterIsRefusedAndTheHolderNamed() throws Exception {
        Files.write(file, new byte[4096]);
        try (HostFile first = host.openFile(options(true, false, Lock.EXCLUSIVE, Aio.THREADS))) {
            assertFalse(first.blockDevice());
            BenchtopException failure = assertThrows(
                    BenchtopException.class, () -> host.openFile(options(true, false, Lock.EXCLUSIVE, Aio.THREADS)));

            assertEquals(
                    file + ": in use by another drive of this process, which holds an exclusive lock; wanted an"
                            + " exclusive one",
                    failure.getMessage());
            assertEquals(ErrorKind.HOST, failure.kind());
            assertThrows(BenchtopException.class, () -> host.openFile(options(false, false, Lock.SHARED, Aio.THREADS)));
        }
        host.openFile(options(true, false, Lock.EXCLUSIVE, Aio.THREADS)).close();
    }

    @Test
    void readersShareAndKeepWritersOut() throws Exception {
        Files.write(file, new byte[4096]);
        try (HostFile first = host.openFile(options(false, false, Lock.SHARED, Aio.THREADS));
                HostFile second = host.openFile(options(false, false, Lock.SHARED, Aio.THREADS))) {
            assertEquals(first.sizeBytes(), second.sizeBytes());
            BenchtopException failure = assertThrows(
                    BenchtopException.class, () -> host.openFile(options(true, false, Lock.EXCLUSIVE, Aio.THREADS)));
            assertTrue(failure.getMessage().contains("holds a shared lock"), failure.getMessage());
        }
    }

    @Test
    void lockOfAnotherProcessIsNamed() throws Exception {
        Files.write(file, new byte[4096]);
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        Process other = new ProcessBuilder(
                        java.toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "--enable-native-access=ALL-UNNAMED",
                        HoldLock.class.getName(),
                        file.toString())
                .redirectErrorStream(true)
                .start();
        try {
            assertEquals('L', other.getInputStream().read());

            BenchtopException failure = assertThrows(
                    BenchtopException.class, () -> host.openFile(options(true, false, Lock.EXCLUSIVE, Aio.THREADS)));

            assertTrue(
                    failure.getMessage().contains("in use by process " + other.pid() + " (java)"),
                    failure.getMessage());
        } finally {
            other.destroyForcibly().waitFor();
        }
    }

    /** Another process that holds a file's lock until it is killed. */
    static final class HoldLock {
        public static void main(String[] args) throws InterruptedException {
            HostFile held = new LinuxHost()
                    .openFile(new HostFileOptions(
                            Path.of(args[0]), true, false, false, false, Lock.EXCLUSIVE, Aio.THREADS, 1));
            System.out.print("L");
            System.out.flush();
            Thread.sleep(TimeUnit.MINUTES.toMillis(5));
            held.close();
        }
    }

    @Test
    void exclusiveLockOfReadOnlyFileIsRefusedClearly() throws Exception {
        Files.write(file, new byte[10]);

        BenchtopException failure = assertThrows(
                BenchtopException.class, () -> host.openFile(options(false, false, Lock.EXCLUSIVE, Aio.THREADS)));

        assertTrue(failure.getMessage().contains("opened for writing"), failure.getMessage());
    }

    @Test
    void openErrorsNameTheFileAndTheReason() {
        BenchtopException missing = assertThrows(BenchtopException.class, () -> open(Aio.THREADS));
        assertEquals(file + ": open for writing: ENOENT (no such file or directory)", missing.getMessage());

        file = folder;
        BenchtopException directory = assertThrows(
                BenchtopException.class, () -> host.openFile(options(false, false, Lock.NONE, Aio.THREADS)));
        assertEquals(folder + ": is a directory; allowed: regular file, block device", directory.getMessage());
        file = folder.resolve("disk.img");

        BenchtopException threads = assertThrows(
                BenchtopException.class,
                () -> host.openFile(new HostFileOptions(file, true, true, false, false, Lock.NONE, Aio.THREADS, 0)));
        assertEquals(ErrorKind.CONFIG, threads.kind());
    }

    @Test
    void pipeIsRefusedWithoutWaitingForItsOtherSide() throws Exception {
        Process mkfifo = new ProcessBuilder("mkfifo", file.toString()).start();
        Assumptions.assumeTrue(mkfifo.waitFor() == 0, "no mkfifo");

        BenchtopException failure = assertThrows(
                BenchtopException.class, () -> host.openFile(options(false, false, Lock.NONE, Aio.THREADS)));

        assertEquals(file + ": is a pipe; allowed: regular file, block device", failure.getMessage());
    }

    @ParameterizedTest
    @EnumSource(
            value = Aio.class,
            names = {"THREADS", "IO_URING"})
    void openAndCloseCyclesLeakNothing(Aio aio) throws Exception {
        Files.write(file, new byte[4096]);
        cycle(aio);
        int descriptors = HostResources.openDescriptors();
        int threads = HostResources.threads();

        for (int i = 0; i < 100; i++) {
            cycle(aio);
        }

        assertEquals(descriptors, HostResources.openDescriptors());
        assertTrue(Math.abs(HostResources.threads() - threads) < 20, "threads: " + HostResources.threads());
    }

    private void cycle(Aio aio) throws InterruptedException {
        try (HostFile disk = open(aio);
                HostFileQueue queue = disk.openQueue(loop)) {
            assertEquals(512, run(queue, FileOperation.Kind.READ, 0, 0, segment(512, 1)));
            assertEquals(0, run(queue, FileOperation.Kind.SYNC, 0, 0));
        }
    }

    @Test
    void filesLoopTimersAndDoorbellsShareOneWait() throws Exception {
        Files.write(file, new byte[1 << 20]);
        Semaphore bells = new Semaphore(0);
        Semaphore ticks = new Semaphore(0);
        ManualClock clock = new ManualClock();
        EventFdDoorbell bell = (EventFdDoorbell) loop.doorbell("bell", bells::release);
        org.benchtop.spi.event.Timer timer = loop.timer(clock, ticks::release);
        MemorySegment one = arena.allocateFrom(ValueLayout.JAVA_LONG, 1L);
        try (HostFile disk = openOrSkip(options(true, true, Lock.NONE, Aio.AUTO));
                HostFileQueue queue = disk.openQueue(loop)) {
            SteadyLoad load = new SteadyLoad(queue);
            for (int i = 0; i < 200; i++) {
                load.begin(100);
                assertEquals(8, LibC.write(bell.fd(), one.address(), 8));
                timer.armAt(0);
                assertTrue(bells.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS));
                assertTrue(ticks.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS));
                load.end();
                // And again with nothing in flight.
                assertEquals(8, LibC.write(bell.fd(), one.address(), 8));
                assertTrue(bells.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS));
                bell.ring();
                assertTrue(bells.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS));
                bells.drainPermits();
            }
        }
    }

    @Test
    void closedFileSaysSo() throws Exception {
        Files.write(file, new byte[10]);
        HostFile disk = open(Aio.THREADS);
        disk.close();
        disk.close();

        BenchtopException failure = assertThrows(BenchtopException.class, disk::sizeBytes);

        assertEquals(file + ": the file is closed", failure.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"THREADS,false", "THREADS,true", "NATIVE,true", "IO_URING,false", "IO_URING,true"})
    void operationsAllocateNothing(Aio aio, boolean direct) throws Exception {
        Files.write(file, new byte[1 << 20]);
        try (HostFile disk = openOrSkip(options(true, direct, Lock.NONE, aio));
                HostFileQueue queue = disk.openQueue(loop)) {
            SteadyLoad load = new SteadyLoad(queue);
            // Long enough for the compilers: code that is not compiled yet may allocate where compiled code does not.
            load.run(20_000);
            long least = Long.MAX_VALUE;
            for (int attempt = 0; attempt < 5 && least > 0; attempt++) {
                long before = allocatedByThreads();
                load.run(5_000);
                least = Math.min(least, allocatedByThreads() - before);
            }
            // The test's own hand-over per run costs a few objects; 5,000 operations may not add to that.
            assertTrue(least < 5_000, "bytes allocated by 5,000 operations: " + least);
        }
    }

    /** Bytes allocated by the loop and all workers. */
    private static long allocatedByThreads() {
        var threads = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
        long sum = 0;
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("benchtop-")) {
                sum += Math.max(0, threads.getThreadAllocatedBytes(thread.threadId()));
            }
        }
        return sum;
    }

    /** Sixteen operations that submit themselves again until enough are done. */
    private final class SteadyLoad {
        private final HostFileQueue queue;
        private final Semaphore finished = new Semaphore(0);
        private final List<FileOperation> operations = new ArrayList<>();
        private final Runnable start = this::start;
        private int left;
        private int flying;

        SteadyLoad(HostFileQueue queue) {
            this.queue = queue;
            for (int i = 0; i < 16; i++) {
                FileOperation operation = new FileOperation(this::completed);
                MemorySegment buffer = segment(8192, i);
                operation.vector().add(buffer, 0, 4096);
                operation.set(i % 2 == 0 ? FileOperation.Kind.READ : FileOperation.Kind.WRITE, i * 8192L, 4096);
                operations.add(operation);
            }
        }

        void run(int count) throws InterruptedException {
            begin(count);
            end();
        }

        void begin(int count) {
            left = count;
            loop.execute(start);
        }

        void end() throws InterruptedException {
            assertTrue(finished.tryAcquire(TIMEOUT_SECONDS, TimeUnit.SECONDS), "stuck with " + left + " left");
        }

        private void start() {
            for (int i = 0; i < operations.size(); i++) {
                flying++;
                queue.submit(operations.get(i));
            }
            queue.kick();
        }

        private void completed(FileOperation operation, long result) {
            flying--;
            if (result != 4096) {
                left = Integer.MAX_VALUE;
            } else if (--left > 0) {
                flying++;
                queue.submit(operation);
                queue.kick();
            } else if (flying == 0) {
                finished.release();
            }
        }
    }

    /** Reads a page of the file often enough for its memory to be worth registering. */
    private void readOften(HostFileQueue queue, MemorySegment into) throws InterruptedException {
        for (int i = 0; i < RingBuffers.WORTH + 4; i++) {
            assertEquals(into.byteSize(), run(queue, FileOperation.Kind.READ, 4096, 0, into));
        }
    }

    @Test
    void guestMemoryThatIsUsedOftenIsRegisteredAndMovesTheSameBytes() throws Exception {
        Assumptions.assumeTrue(IoUring.problem().isEmpty(), () -> "no io_uring: " + IoUring.problem());
        byte[] content = bytes(segment(1 << 20, 3));
        Files.write(file, content);
        try (GuestRam ram = GuestRam.allocate("test", 8 << 20, false, GuestRam.Pages.NORMAL);
                HostFile disk = open(Aio.IO_URING);
                HostFileQueue queue = disk.openQueue(loop)) {
            MemorySegment page = ram.segment().asSlice(12288, 4096);
            readOften(queue, page);
            Assumptions.assumeTrue(disk.registeredTransfers() > 0, "the kernel registers no memory here");

            assertArrayEquals(Arrays.copyOfRange(content, 4096, 8192), bytes(page));
            page.fill((byte) 0x3c);
            assertEquals(4096, run(queue, FileOperation.Kind.WRITE, 0, 0, page));
            assertEquals((byte) 0x3c, Files.readAllBytes(file)[4095]);
            long before = disk.registeredTransfers();
            MemorySegment acrossTwoPieces = ram.segment().asSlice((2 << 20) - 2048, 4096);
            readOften(queue, acrossTwoPieces);
            assertArrayEquals(Arrays.copyOfRange(content, 4096, 8192), bytes(acrossTwoPieces));
            assertEquals(before, disk.registeredTransfers());
        }
    }

    @Test
    void memoryAtTheAddressOfAnEarlierGuestIsNotTakenForIts() throws Exception {
        Assumptions.assumeTrue(IoUring.problem().isEmpty(), () -> "no io_uring: " + IoUring.problem());
        byte[] content = bytes(segment(16384, 4));
        Files.write(file, content);
        try (HostFile disk = open(Aio.IO_URING);
                HostFileQueue queue = disk.openQueue(loop)) {
            for (int guest = 0; guest < 4; guest++) {
                try (GuestRam ram = GuestRam.allocate("test", 8 << 20, false, GuestRam.Pages.NORMAL)) {
                    MemorySegment page = ram.segment().asSlice(0, 4096);
                    readOften(queue, page);

                    assertArrayEquals(Arrays.copyOfRange(content, 4096, 8192), bytes(page));
                }
            }
        }
    }

    @Test
    void lockOfAClosedFileIsFreeAtOnceAlthoughTheRingHasKnownTheFile() throws Exception {
        Assumptions.assumeTrue(IoUring.problem().isEmpty(), () -> "no io_uring: " + IoUring.problem());
        Files.write(file, new byte[8192]);
        MemorySegment page = segment(4096, 5);
        long before = openDescriptors();
        for (int i = 0; i < 100; i++) {
            try (HostFile disk = host.openFile(options(true, false, Lock.EXCLUSIVE, Aio.IO_URING));
                    HostFileQueue queue = disk.openQueue(loop)) {
                assertEquals(4096, run(queue, FileOperation.Kind.WRITE, 0, 0, page));
            }
        }
        assertTrue(openDescriptors() < before + 50);
    }

    private static long openDescriptors() throws IOException {
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.count();
        }
    }
}
