package org.benchtop.guests.debian;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.benchtop.guests.Qemu;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real packages, and QEMU as the referee. Skipped without apt, or without network where nothing is cached. */
class DebianGuestTest {
    private static final String SCRIPT = """
            echo "release $(uname -r)"
            echo "modules $(lsmod | awk 'NR > 1 {print $1}' | sort | tr '\\n' ' ')"
            echo "disk $(cat /sys/block/vda/size)"
            echo "sum $(printf benchtop | md5sum)"
            exit 7
            """;

    @TempDir
    Path folder = Path.of("");

    private final List<String> progress = new ArrayList<>();

    private DebianFiles prepare(DebianOptions options) {
        try {
            return DebianGuest.prepare(options, path -> path, progress::add);
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.kind() == ErrorKind.HOST, e.getMessage());
            throw e;
        }
    }

    /** Boots with a device at the exit port, which makes QEMU end with twice the code plus one. */
    private String boot(DebianFiles files, String cmdline, int code) throws IOException, InterruptedException {
        Qemu.assumeInstalled();
        Path disk = folder.resolve("disk.img");
        Files.write(disk, new byte[1 << 20]);
        Path console = folder.resolve("console.txt");
        Process qemu = new ProcessBuilder(
                        "qemu-system-x86_64",
                        "-accel",
                        "tcg",
                        "-M",
                        "pc",
                        "-m",
                        "256",
                        "-no-reboot",
                        "-display",
                        "none",
                        "-nodefaults",
                        "-kernel",
                        files.kernel().toString(),
                        "-initrd",
                        files.initrd().toString(),
                        "-append",
                        cmdline,
                        "-device",
                        "isa-debug-exit,iobase=0x501,iosize=1",
                        "-serial",
                        "file:" + console,
                        "-drive",
                        "file=" + disk + ",format=raw,if=virtio")
                .inheritIO()
                .start();
        try {
            assertTrue(qemu.waitFor(4, TimeUnit.MINUTES), "the guest does not end");
            assertEquals(2 * code + 1, qemu.exitValue());
        } finally {
            qemu.destroyForcibly();
        }
        return Files.readString(console).replace("\r", "");
    }

    @Test
    void cloudKernelRunsTheScriptWithItsModulesAndEndsWithItsCode() throws IOException, InterruptedException {
        DebianFiles files = prepare(
                DebianOptions.minimal().withModules("virtio_pci", "virtio_blk").withScript(SCRIPT));

        String console = boot(files, "console=ttyS0 quiet panic=-1", 7);

        assertTrue(console.matches("(?s).*release \\d+\\.\\d+.*-cloud-amd64\\n.*"), console);
        assertTrue(console.contains("virtio_blk "), console);
        assertTrue(console.contains("disk 2048"), console);
        assertTrue(console.contains("sum 3217a92c404dd329907d02b374c3e2b4"), console);
        assertTrue(console.contains("the script ended with exit code 7"), console);
    }

    @Test
    void sameOptionsAreFoundInTheCache() throws IOException {
        DebianOptions options = DebianOptions.minimal().withScript("true");
        DebianFiles first = prepare(options);
        byte[] initrd = Files.readAllBytes(first.initrd());
        progress.clear();

        DebianFiles second = prepare(options);

        assertEquals(first, second);
        assertEquals(List.of(), progress, "nothing is done again");
        assertArrayEquals(initrd, Files.readAllBytes(second.initrd()));
    }

    @Test
    void elfKernelForPvhIsAnElfFile() throws IOException {
        DebianFiles files = prepare(DebianOptions.minimal().withProtocol(DebianOptions.Protocol.PVH));

        assertEquals("vmlinux", String.valueOf(files.kernel().getFileName()));
        assertEquals(0x7f, Files.readAllBytes(files.kernel())[0]);
    }

    @Test
    void unknownPackageAndModuleAreNamed() {
        prepare(DebianOptions.minimal());

        BenchtopException e = assertThrows(
                BenchtopException.class, () -> prepare(DebianOptions.minimal().withPackages("no-such-package")));
        assertEquals(
                "package \"no-such-package\" is unknown to apt on this machine (apt-get update may help)",
                e.getMessage());
        BenchtopException m = assertThrows(
                BenchtopException.class, () -> prepare(DebianOptions.minimal().withModules("virtio_blx")));
        assertTrue(m.getMessage().startsWith("the kernel has no module \"virtio_blx\""), m.getMessage());
    }

    @Test
    void exportWritesBothFiles() {
        prepare(DebianOptions.minimal());

        DebianFiles files =
                DebianGuest.export(DebianOptions.minimal(), path -> path, folder.resolve("out"), progress::add);

        assertTrue(Files.isRegularFile(folder.resolve("out/vmlinuz")));
        assertTrue(Files.isRegularFile(folder.resolve("out/initrd.cpio")));
        assertEquals(folder.resolve("out/vmlinuz"), files.kernel());
    }

    @Test
    void filesOfAPackageAreExtractedOrTheMissingOneIsNamed() {
        Path text = folder.resolve("text");
        try {
            DebianPackage.extract(
                    "busybox-static",
                    Map.of("usr/share/doc/busybox-static/changelog.Debian.gz", text),
                    true,
                    progress::add);
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.kind() == ErrorKind.HOST, e.getMessage());
            throw e;
        }

        assertTrue(read(text).startsWith("busybox (1:"), read(text));
        assertEquals(
                "package \"busybox-static\" has no file bin/nothing",
                assertThrows(
                                BenchtopException.class,
                                () -> DebianPackage.extract(
                                        "busybox-static", Map.of("bin/nothing", text), false, progress::add))
                        .getMessage());
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
