package org.benchtop.block.qcow2;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.image.Image;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeFile;
import org.junit.jupiter.api.Test;

/** Requests on allocated clusters take no memory from the heap. */
final class Qcow2AllocationTest {
    private static final int SIZE = 4 << 20;

    @Test
    void readsAndWritesOfAllocatedClustersAllocateNothing() {
        TestImages images = new TestImages();
        FakeFile file = images.create("disk.qcow2", SIZE, Map.of());
        FakeEventLoop loop = new FakeEventLoop();
        try (Image image = images.open("disk.qcow2");
                BlockClient client = new BlockClient(image, loop)) {
            client.write(0, new byte[SIZE]);
            client.flush();
            file.hollow(true);
            MemorySegment memory = Arena.ofAuto().allocate(8192, 4096);
            BlockRequest.Read read = new BlockRequest.Read();
            read.buffer().add(memory, 0, 4096);
            BlockRequest.Write write = new BlockRequest.Write();
            write.buffer().add(memory, 4096, 4096);
            int[] wrong = new int[1];
            BlockCompletion completion = (request, status) -> wrong[0] += status == BlockStatus.OK ? 0 : 1;
            long[] at = new long[1];
            long[] bytes = new long[1];
            loop.call(() -> bytes[0] = AllocationMeter.bytesPerRound(1000, () -> {
                at[0] = (at[0] + 37 * 4096) % SIZE;
                client.queue().submit(read.at(at[0]), completion);
                client.queue().submit(write.at(at[0]), completion);
                client.queue().kick();
            }));
            file.hollow(false);

            assertEquals(0, wrong[0]);
            // Nothing per request; the JVM itself may allocate once in a while.
            assertTrue(bytes[0] < 500, "1000 reads and 1000 writes allocate " + bytes[0] + " bytes");
        }
    }
}
