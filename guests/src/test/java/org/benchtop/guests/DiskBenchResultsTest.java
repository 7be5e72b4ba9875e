package org.benchtop.guests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DiskBenchResultsTest {
    @TempDir
    Path folder;

    @Test
    void resultsInGuestMemoryAgreeWithTheSerialLine() throws Exception {
        Path memory = folder.resolve("memory");
        Path disk = folder.resolve("disk");
        for (Path file : new Path[] {memory, disk}) {
            try (RandomAccessFile created = new RandomAccessFile(file.toFile(), "rw")) {
                created.setLength(file.equals(memory) ? 256L << 20 : 8L << 20);
            }
        }
        String[] shared = {
            "-object", "memory-backend-file,id=m,size=256M,share=on,mem-path=" + memory, "-machine", "memory-backend=m"
        };

        Qemu.Run run = Qemu.boot(
                GuestPrograms.elf("diskbench"),
                "rw=randrw ios=1500 runtime=0 iodepth=4 seed=9",
                Stream.concat(Stream.of(shared), Stream.of(Qemu.disk(disk, ""))).toArray(String[]::new));

        assertEquals(0, run.exitCode(), run.console());
        try (FileChannel channel = FileChannel.open(memory);
                Arena arena = Arena.ofConfined()) {
            MemorySegment area =
                    channel.map(FileChannel.MapMode.READ_ONLY, GuestLayout.RESULTS, GuestLayout.RESULTS_SIZE, arena);
            DiskBenchResults results = DiskBenchResults.parse(area);
            assertEquals("randrw", results.workload());
            assertEquals(4096, results.requestSizeBytes());
            assertEquals(4, results.depth());
            assertEquals(9, results.seed());
            assertEquals(1500, results.read().requests() + results.write().requests());
            assertEquals(run.number("ios"), results.read().requests());
            assertEquals(run.number("elapsed_ns"), results.elapsedNanos());
            assertEquals(run.number("interrupts"), results.interrupts());
            assertEquals(run.number("p50"), results.read().submission().percentileNanos(0.5));
            assertEquals(run.number("p999"), results.read().submission().percentileNanos(0.999));
            assertEquals(
                    results.read().requests(),
                    results.read().submission().histogram().stream()
                            .mapToLong(n -> n)
                            .sum());
            assertEquals(
                    results.read().requests(),
                    results.read().completion().histogram().stream()
                            .mapToLong(n -> n)
                            .sum());
            String clat = run.result().substring(run.result().indexOf("\"clat_ns\""));
            long p99 = Long.parseLong(clat.replaceAll("^.*?\"p99\":([0-9]+).*", "$1"));
            assertEquals(p99, results.read().completion().percentileNanos(0.99));
            long deviation = Long.parseLong(clat.replaceAll("^.*?\"stdev\":([0-9]+).*", "$1"));
            assertEquals(deviation, results.read().completion().deviationNanos(), 2 + deviation * 0.001);
            long mean = Long.parseLong(clat.replaceAll("^.*?\"mean\":([0-9]+).*", "$1"));
            assertEquals(mean, results.read().completion().meanNanos(), 1);
            assertTrue(results.read().completion().minimumNanos() <= mean);
        }
    }

    @Test
    void areaWithoutResultsIsRefused() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment area = arena.allocate(GuestLayout.RESULTS_SIZE, 8);

            BenchtopException thrown = assertThrows(BenchtopException.class, () -> DiskBenchResults.parse(area));

            assertEquals("the results area holds no diskbench results", thrown.getMessage());
        }
    }

    @Test
    void unfinishedRunIsRefused() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment area = arena.allocate(GuestLayout.RESULTS_SIZE, 8);
            area.set(ValueLayout.JAVA_LONG, DiskBenchLayout.MAGIC, DiskBenchLayout.MAGIC_VALUE);
            area.set(ValueLayout.JAVA_INT, DiskBenchLayout.VERSION, DiskBenchLayout.VERSION_VALUE);
            area.set(ValueLayout.JAVA_INT, DiskBenchLayout.STATE, DiskBenchLayout.STATE_RUNNING);

            BenchtopException thrown = assertThrows(BenchtopException.class, () -> DiskBenchResults.parse(area));

            assertEquals("diskbench has not finished", thrown.getMessage());
        }
    }

    @Test
    void everyDurationFallsIntoTheBucketThatHoldsIt() {
        long nanos = 1;
        while (nanos < 1L << 41) {
            for (long value : new long[] {nanos - 1, nanos, nanos + 1}) {
                int index = LatencyBuckets.index(value);
                assertTrue(LatencyBuckets.lowest(index) <= value, "value " + value);
                assertTrue(
                        index == LatencyBuckets.COUNT - 1 || value < LatencyBuckets.lowest(index + 1),
                        "value " + value);
            }
            nanos += nanos / 7 + 1;
        }
        assertEquals(0, LatencyBuckets.index(-5));
        assertEquals(LatencyBuckets.COUNT - 1, LatencyBuckets.index(Long.MAX_VALUE));
    }
}
