package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.FileOperation;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.junit.jupiter.api.Test;

final class FakeFileTest {
    private static final Path PATH = Path.of("/fake/disk.img");

    private final FakeHostServices host = new FakeHostServices();
    private final FakeEventLoop loop = new FakeEventLoop();
    private final List<Long> results = new ArrayList<>();
    private final MemorySegment memory = Arena.ofAuto().allocate(8192, 4096);

    private HostFile open(boolean direct, HostFileOptions.Lock lock) {
        return host.openFile(new HostFileOptions(PATH, true, true, direct, false, lock, HostFileOptions.Aio.AUTO, 1));
    }

    private FileOperation operation(FileOperation.Kind kind, long offset, long length) {
        FileOperation operation = new FileOperation((op, result) -> results.add(result));
        if (kind == FileOperation.Kind.READ || kind == FileOperation.Kind.WRITE) {
            operation.vector().add(memory, 0, length);
        }
        return operation.set(kind, offset, length);
    }

    private void submit(HostFile file, FileOperation operation) {
        var queue = file.openQueue(loop);
        loop.call(() -> queue.submit(operation));
        loop.runPending();
        queue.close();
    }

    @Test
    void powerCutLosesWhatWasNotSynced() {
        FakeFile fake = host.file(PATH, 4096);
        HostFile file = open(false, HostFileOptions.Lock.NONE);
        memory.fill((byte) 1);
        submit(file, operation(FileOperation.Kind.WRITE, 0, 512));
        submit(file, operation(FileOperation.Kind.SYNC, 0, 0));
        memory.fill((byte) 2);
        submit(file, operation(FileOperation.Kind.WRITE, 0, 512));

        fake.powerCut();

        assertArrayEquals(new byte[] {1, 1}, fake.bytes(510, 2));
        assertEquals(List.of("WRITE 0+512", "SYNC", "WRITE 0+512"), fake.trace());
    }

    @Test
    void unalignedDirectAccessIsInvalid() {
        host.file(PATH, 4096);
        HostFile file = open(true, HostFileOptions.Lock.NONE);

        submit(file, operation(FileOperation.Kind.READ, 1, 512));
        submit(file, operation(FileOperation.Kind.READ, 0, 100));
        submit(file, operation(FileOperation.Kind.READ, 0, 512));

        assertEquals(List.of(-22L, -22L, 512L), results);
    }

    @Test
    void readsAreShortAtTheEnd() {
        host.file(PATH, 1000);
        HostFile file = open(false, HostFileOptions.Lock.NONE);

        submit(file, operation(FileOperation.Kind.READ, 900, 512));
        submit(file, operation(FileOperation.Kind.READ, 2000, 512));

        assertEquals(List.of(100L, 0L), results);
    }

    @Test
    void exclusiveLockRefusesASecondOpener() {
        HostFile first = open(false, HostFileOptions.Lock.EXCLUSIVE);

        assertThrows(BenchtopException.class, () -> open(false, HostFileOptions.Lock.SHARED));
        first.close();

        open(false, HostFileOptions.Lock.EXCLUSIVE).close();
    }

    @Test
    void heldOperationsCompleteInTheOrderOfTheTest() {
        FakeFile fake = host.file(PATH, 4096).completion(FakeFile.Completion.HELD);
        HostFile file = open(false, HostFileOptions.Lock.NONE);
        var queue = file.openQueue(loop);
        loop.call(() -> {
            queue.submit(operation(FileOperation.Kind.READ, 0, 512));
            queue.submit(operation(FileOperation.Kind.READ, 0, 1024));
        });

        fake.completeNewestHeld();
        fake.completeHeld();

        assertEquals(List.of(1024L, 512L), results);
    }

    @Test
    void fullDiskShortensAndThenRefusesWrites() {
        host.file(PATH, 0).capacity(768);
        HostFile file = open(false, HostFileOptions.Lock.NONE);

        submit(file, operation(FileOperation.Kind.WRITE, 512, 512));
        submit(file, operation(FileOperation.Kind.WRITE, 1024, 512));

        assertEquals(List.of(256L, -28L), results);
    }
}
