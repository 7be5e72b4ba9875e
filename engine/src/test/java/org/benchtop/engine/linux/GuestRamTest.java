package org.benchtop.engine.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuestRamTest {
    private static final long MIB = 1 << 20;

    @ParameterizedTest
    @CsvSource({"true,NORMAL", "false,NORMAL", "false,TRANSPARENT_HUGE"})
    void memoryIsZeroedWritableAndAligned(boolean shared, GuestRam.Pages pages) {
        try (GuestRam ram = GuestRam.allocate("test", 64 * MIB, shared, pages)) {
            MemorySegment segment = ram.segment();
            assertEquals(64 * MIB, segment.byteSize());
            assertEquals(0, ram.address() % (2 * MIB));
            assertEquals(0, segment.get(ValueLayout.JAVA_LONG, 64 * MIB - 8));

            segment.set(ValueLayout.JAVA_LONG, 64 * MIB - 8, 42);

            assertEquals(42, segment.get(ValueLayout.JAVA_LONG, 64 * MIB - 8));
            assertEquals(shared, ram.fd() >= 0);
        }
    }

    @Test
    void sharedMemoryIsSeenThroughItsDescriptor() {
        try (GuestRam ram = GuestRam.allocate("test", MIB, true, GuestRam.Pages.NORMAL);
                Arena arena = Arena.ofConfined()) {
            ram.segment().set(ValueLayout.JAVA_INT, 4096, 7);
            MemorySegment back = arena.allocate(4, 4);

            assertEquals(4, LibC.pread(ram.fd(), back.address(), 4, 4096));

            assertEquals(7, back.get(ValueLayout.JAVA_INT, 0));
        }
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void muchMoreThanTheHostHasCanBeReserved(boolean shared) {
        long size = 4096L * 1024 * MIB;
        try (GuestRam ram = GuestRam.allocate("big", size, shared, GuestRam.Pages.NORMAL)) {
            ram.segment().set(ValueLayout.JAVA_BYTE, size - 1, (byte) 1);
            assertEquals(1, ram.segment().get(ValueLayout.JAVA_BYTE, size - 1));
        }
    }

    @Test
    void impossibleSizesAreRefusedWithTheLimit() {
        BenchtopException large = assertThrows(
                BenchtopException.class, () -> GuestRam.allocate("main", 1L << 50, true, GuestRam.Pages.NORMAL));
        assertEquals(ErrorKind.CONFIG, large.kind());
        assertEquals(
                "memory main: size 1073741824 MiB is above what an address space holds, 134217728 MiB",
                large.getMessage());

        BenchtopException nearly = assertThrows(
                BenchtopException.class,
                () -> GuestRam.allocate("main", (1L << 47) - 8 * MIB, true, GuestRam.Pages.NORMAL));
        assertTrue(nearly.getMessage().contains("cannot reserve 134217720 MiB"), nearly.getMessage());

        BenchtopException odd = assertThrows(
                BenchtopException.class, () -> GuestRam.allocate("main", 1000, true, GuestRam.Pages.NORMAL));
        assertTrue(odd.getMessage().contains("multiple of 4096"), odd.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void missingHugePagesAreNamed(boolean shared) throws Exception {
        Path free = Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
        org.junit.jupiter.api.Assumptions.assumeTrue(
                Files.exists(free) && Files.readString(free).strip().equals("0"), "this host has huge pages");

        BenchtopException failure = assertThrows(
                BenchtopException.class, () -> GuestRam.allocate("main", 64 * MIB, shared, GuestRam.Pages.HUGE));

        assertTrue(failure.getMessage().contains("64 MiB of 2 MiB huge pages, 0 are free"), failure.getMessage());
    }

    @Test
    void accessAfterCloseThrows() {
        GuestRam ram = GuestRam.allocate("test", MIB, true, GuestRam.Pages.NORMAL);
        MemorySegment segment = ram.segment();
        ram.close();
        ram.close();

        assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
    }

    @Test
    void allocateAndCloseCyclesLeakNothing() throws Exception {
        int descriptors = HostResources.openDescriptors();
        long mappings = mappings();

        for (int i = 0; i < 200; i++) {
            GuestRam.allocate("cycle", 16 * MIB, i % 2 == 0, GuestRam.Pages.NORMAL)
                    .close();
        }
        assertThrows(
                BenchtopException.class,
                () -> GuestRam.allocate("main", (1L << 47) - 8 * MIB, true, GuestRam.Pages.NORMAL));

        assertEquals(descriptors, HostResources.openDescriptors());
        assertTrue(mappings() - mappings < 50, "mappings: " + mappings + " -> " + mappings());
    }

    private static long mappings() throws Exception {
        try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.count();
        }
    }
}
