package org.benchtop.guests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import org.benchtop.guests.Qemu.Run;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.guest.GuestProgramType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class GuestProgramsTest {
    private static final long MIB = 1 << 20;

    @TempDir
    Path folder;

    private Path image(long sizeBytes) throws IOException {
        Path file = folder.resolve("disk.img");
        try (RandomAccessFile image = new RandomAccessFile(file.toFile(), "rw")) {
            image.setLength(sizeBytes);
        }
        return file;
    }

    static Stream<GuestProgram> programs() {
        return GuestPrograms.list().stream();
    }

    @ParameterizedTest
    @MethodSource("programs")
    void everyDocumentedParameterIsAccepted(GuestProgram program) throws Exception {
        StringBuilder cmdline = new StringBuilder();
        for (GuestProgramType.Parameter parameter : program.parameters()) {
            String value = parameter.defaultValue().matches("[0-9a-z]+") ? parameter.defaultValue() : "1m";
            String small = parameter.name().equals("runtime") ? "1" : value;
            cmdline.append(parameter.name()).append('=').append(small).append(' ');
        }

        Run run = Qemu.boot(program.elf(), cmdline.toString(), Qemu.disk(image(4 * MIB), ""));

        assertEquals(0, run.exitCode(), run.console());
    }

    @ParameterizedTest
    @MethodSource("programs")
    void prebuiltFileIsWhatTheCompilerMakes(GuestProgram program) {
        byte[] prebuilt = PrebuiltPrograms.load(program.name()).orElseThrow();

        assertArrayEquals(program.image().elf(), prebuilt);
    }

    @ParameterizedTest
    @MethodSource("programs")
    void unknownParameterEndsWithCode2(GuestProgram program) throws Exception {
        Run run = Qemu.boot(program.elf(), "colour=blue");

        assertEquals(2, run.exitCode());
        assertTrue(run.console().contains("error: unknown parameter \"colour=blue\""), run.console());
    }

    @Test
    void helloPrintsItsCommandLineAndReturnsTheGivenCode() throws Exception {
        Run run = Qemu.boot(GuestPrograms.elf("hello"), "code=42");

        assertEquals(42, run.exitCode());
        assertTrue(run.console().contains("Hello from a guest written in Java."), run.console());
        assertTrue(run.console().contains("command line: \"code=42\""), run.console());
    }

    @Test
    void helloStartsAllCpus() throws Exception {
        Run run = Qemu.boot(GuestPrograms.elf("hello"), "smp=1", "-smp", "4");

        assertEquals(0, run.exitCode());
        assertTrue(run.console().contains("CPUs: 4"), run.console());
    }

    @Test
    void cpuburnComputesTheSameOnEveryRun() throws Exception {
        Run first = Qemu.boot(GuestPrograms.elf("cpuburn"), "loops=3000000 cpus=2", "-smp", "2");
        Run second = Qemu.boot(GuestPrograms.elf("cpuburn"), "loops=3000000 cpus=2", "-smp", "2");

        assertEquals(0, first.exitCode());
        assertEquals(checksums(first), checksums(second));
        assertEquals(2, checksums(first).size());
    }

    private static List<String> checksums(Run run) {
        return run.console()
                .lines()
                .filter(line -> line.contains("checksum"))
                .map(line -> line.substring(line.indexOf("checksum")))
                .toList();
    }

    static Stream<String> queueModes() {
        return Stream.of("", "poll=1", "event_idx=0", "event_idx=0 poll=1", "indirect=1 iodepth=32", "iodepth=1");
    }

    @ParameterizedTest
    @MethodSource("queueModes")
    void diskcheckLeavesItsPatternOnTheDisk(String mode) throws Exception {
        Path file = image(8 * MIB);

        Run run = Qemu.boot(
                GuestPrograms.elf("diskcheck"),
                "seed=77 seconds=0 offset=1m size=6m " + mode,
                Qemu.disk(file, "serial=BT-123"));

        assertEquals(0, run.exitCode(), run.console());
        assertTrue(run.console().contains("serial number: \"BT-123\""), run.console());
        ByteBuffer content = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        for (int word = 0; word < 6 * MIB / 8; word++) {
            assertEquals(DiskPattern.word(77, word), content.getLong((int) MIB + 8 * word), "word " + word);
        }
        assertEquals(0, content.getLong(0), "before the tested range");
        assertEquals(0, content.getLong((int) (7 * MIB)), "behind the tested range");
        assertEquals(0, run.number("missed_interrupts"));
        assertEquals(mode.contains("poll=1"), run.number("interrupts") == 0, run.result());
    }

    @ParameterizedTest
    @ValueSource(strings = {"iodepth=100", "iodepth=1 poll=1"})
    void diskcheckLeavesItsPatternBehindAnLsiAdapter(String mode) throws Exception {
        Path file = image(8 * MIB);

        Run run = Qemu.boot(
                GuestPrograms.elf("diskcheck"),
                "seed=77 seconds=0 " + mode,
                "-device",
                "lsi53c895a",
                "-drive",
                "if=none,id=d0,format=raw,discard=unmap,file=" + file,
                "-device",
                "scsi-hd,drive=d0,serial=BT-123,scsi-id=3");

        assertEquals(0, run.exitCode(), run.console());
        assertTrue(run.console().contains("serial number: \"BT-123\""), run.console());
        ByteBuffer content = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        for (int word = 0; word < 8 * MIB / 8; word++) {
            assertEquals(DiskPattern.word(77, word), content.getLong(8 * word), "word " + word);
        }
        assertEquals(0, run.number("missed_interrupts"));
    }

    @Test
    void diskcheckNamesTheBadBlock() throws Exception {
        String[] forgetful = {
            "-drive", "if=none,id=d0,driver=null-co,size=4M,read-zeroes=on",
            "-device", "virtio-blk-pci,drive=d0,disable-legacy=on,write-zeroes=off"
        };

        Run run = Qemu.boot(GuestPrograms.elf("diskcheck"), "iodepth=1", forgetful);

        assertEquals(1, run.exitCode(), run.console());
        assertTrue(
                run.console()
                        .contains("error: data mismatch at LBA 0, byte 0: expected 0x"
                                + Long.toHexString(DiskPattern.word(DiskPattern.seedOfPass(1, 0, 4), 0))
                                + ", found 0x0"),
                run.console());
    }

    @Test
    void diskcheckRefusesAReadOnlyDisk() throws Exception {
        Run run = Qemu.boot(
                GuestPrograms.elf("diskcheck"),
                "",
                "-drive",
                "if=none,id=d0,format=raw,read-only=on,file=" + image(MIB),
                "-device",
                "virtio-blk-pci,drive=d0,disable-legacy=on");

        assertEquals(2, run.exitCode());
        assertTrue(run.console().contains("read-only"), run.console());
    }

    @Test
    void missingDiskEndsWithCode3() throws Exception {
        Run run = Qemu.boot(GuestPrograms.elf("diskbench"), "disk=1", Qemu.disk(image(MIB), ""));

        assertEquals(3, run.exitCode());
        assertTrue(run.console().contains("error: no disk 1 (found 1)"), run.console());
    }

    @Test
    void diskbenchCountsWhatItWasAskedFor() throws Exception {
        Run run = Qemu.boot(
                GuestPrograms.elf("diskbench"),
                "rw=randrw rwmixread=70 bs=8k iodepth=8 ios=2000 runtime=0 fsync=100",
                Qemu.disk(image(16 * MIB), ""));

        assertEquals(0, run.exitCode(), run.console());
        String result = run.result();
        long reads = run.number("ios");
        String writePart = result.substring(result.indexOf("\"write\":"));
        long writes = Long.parseLong(writePart.replaceAll("^\"write\":\\{\"ios\":([0-9]+).*", "$1"));
        assertEquals(2000, reads + writes, result);
        assertTrue(reads > 1300 && reads < 1500, "70 % of 2000 within four sigma: " + reads);
        assertEquals(reads * 8192, run.number("bytes"));
        assertEquals(writes / 100, run.number("flushes"));
        assertEquals(0, run.number("missed_interrupts"));
    }

    @Test
    void diskbenchRunsAJobPerCpuAndQueue() throws Exception {
        Run run = Qemu.boot(
                GuestPrograms.elf("diskbench"),
                "rw=write numjobs=2 ios=500 runtime=0 iodepth=4 size=8m",
                Stream.concat(Stream.of("-smp", "2"), Stream.of(Qemu.disk(image(8 * MIB), "num-queues=2")))
                        .toArray(String[]::new));

        assertEquals(0, run.exitCode(), run.console());
        assertEquals(2, run.number("queues"));
        assertTrue(run.result().contains("\"write\":{\"ios\":1000,"), run.result());
    }

    @Test
    void unknownProgramListsTheKnownOnes() {
        BenchtopException thrown = assertThrows(BenchtopException.class, () -> GuestPrograms.elf("helo"));

        assertEquals(
                "unknown guest program \"helo\" (known: hello, cpuburn, diskcheck, diskbench)", thrown.getMessage());
    }

    @Test
    void serviceLoaderFindsThePrograms() {
        List<String> names = ServiceLoader.load(Plugin.class).stream()
                .map(ServiceLoader.Provider::get)
                .flatMap(plugin -> plugin.guestPrograms().stream())
                .map(GuestProgramType::name)
                .toList();

        assertEquals(List.of("hello", "cpuburn", "diskcheck", "diskbench"), names);
    }
}
