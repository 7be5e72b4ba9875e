package org.benchtop.shell;

import static org.benchtop.shell.ImageCli.benchtop;
import static org.benchtop.shell.ImageCli.execute;
import static org.benchtop.shell.ImageCli.ok;
import static org.benchtop.shell.ImageCli.qemu;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.shell.ImageCli.Output;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What image commands do on a full or read-only file system of 3 MiB: one line, and nothing lost or left behind. */
final class ImageHostFailuresTest {
    private static final int MIB = 1 << 20;

    @TempDir
    private Path folder = Path.of("");

    private Path small = Path.of("");
    private boolean mounted;

    @BeforeEach
    void mountSmallFileSystem() throws IOException {
        Assumptions.assumeTrue(LinuxHost.available(), "needs Linux on x86-64");
        Assumptions.assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/qemu-img")), "needs qemu-img (Debian package qemu-utils)");
        Assumptions.assumeTrue(Files.isExecutable(Path.of("/usr/bin/mount")), "needs mount");
        small = Files.createDirectory(folder.resolve("small"));
        Output output = execute("mount", "-t", "tmpfs", "-o", "size=3m", "benchtop-test", small);
        Assumptions.assumeTrue(output.exitCode() == 0, () -> "needs root for a small file system: " + output.out());
        mounted = true;
    }

    @AfterEach
    void unmount() {
        if (mounted) {
            execute("umount", "-l", small);
        }
    }

    private Path noise(Path file, int bytes) throws IOException {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return Files.write(file, content);
    }

    /** Every file of a folder with its content. */
    private static Map<String, byte[]> contents(Path of) throws IOException {
        Map<String, byte[]> contents = new TreeMap<>();
        try (Stream<Path> files = Files.list(of)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                contents.put(file.getFileName().toString(), Files.readAllBytes(file));
            }
        }
        return contents;
    }

    private static void same(Map<String, byte[]> before, Map<String, byte[]> after, String what) {
        assertEquals(before.keySet(), after.keySet(), what);
        before.forEach((name, content) -> assertArrayEquals(content, after.get(name), what + ": " + name));
    }

    /** The command must fail with one line that says why. */
    private static void fails(String reason, List<?> words) {
        Output output = benchtop(words.toArray());
        String what = words + ": " + output;
        assertTrue(output.exitCode() == 2 || output.exitCode() == 3, what);
        assertEquals(1, output.err().strip().lines().count(), what);
        assertTrue(output.err().contains(reason), what);
    }

    @Test
    void commandsThatMakeFilesLeaveNothingOnAFullDisk() throws IOException {
        Path source = noise(folder.resolve("source.raw"), 8 * MIB);
        Path packed = folder.resolve("source.qcow2");
        qemu("convert", "-f", "raw", "-O", "qcow2", source, packed);
        Path old = Files.write(small.resolve("old.img"), new byte[] {1, 2, 3});
        Map<String, byte[]> sources = contents(folder);
        Map<String, byte[]> before = contents(small);
        List<List<?>> commands = new ArrayList<>();
        for (Object target : List.of(small.resolve("new.img"), old)) {
            commands.add(List.of("convert", "-f", "raw", "-O", "raw", source, target));
            commands.add(List.of("convert", "-f", "raw", "-O", "qcow2", source, target));
            commands.add(List.of("convert", "-f", "raw", "-O", "qcow2", "-c", source, target));
            commands.add(List.of("convert", "-f", "qcow2", "-O", "raw", packed, target));
            commands.add(List.of("convert", "-f", "qcow2", "-O", "qcow2", "-t", "none", "-W", packed, target));
            commands.add(List.of("create", "-f", "raw", "-o", "preallocation=full", target, "8M"));
            commands.add(List.of("create", "-f", "raw", "-o", "preallocation=falloc", target, "8M"));
            commands.add(List.of("create", "-f", "qcow2", "-o", "preallocation=full", target, "8M"));
            commands.add(List.of("create", "-f", "qcow2", "-o", "preallocation=falloc", target, "8M"));
        }

        for (List<?> command : commands) {
            fails(command.contains("none") ? "" : "space", command);
            same(before, contents(small), command.toString());
        }

        same(sources, contents(folder), "the sources");
    }

    @Test
    void commandsThatChangeAnImageOnAFullDiskKeepWhatItHeld() throws IOException {
        Path base = folder.resolve("base.raw");
        noise(base, 6 * MIB);
        Path other = noise(folder.resolve("other.raw"), 6 * MIB - 512);
        Path image = small.resolve("top.qcow2");
        qemu("create", "-q", "-f", "qcow2", "-b", base, "-F", "raw", image, 6 * MIB);
        execute("qemu-io", "-f", "qcow2", "-c", "write -P 7 1M 1M", image);
        Path flat = folder.resolve("flat.raw");
        qemu("convert", "-f", "qcow2", "-O", "raw", image, flat);
        Files.write(small.resolve("filler"), new byte[3 * MIB / 2]);
        Map<String, byte[]> sources = contents(folder);

        fails("space", List.of("rebase", "-f", "qcow2", "-b", "", image));
        intact(image, flat);
        fails("space", List.of("convert", "-n", "-f", "raw", "-O", "qcow2", other, image));
        qemuFindsNothingWorseThanLeaks(image);
        fails("", List.of("bench", "-w", "-f", "qcow2", "-c", 96, "-s", 65536, "-d", 4, image));
        qemuFindsNothingWorseThanLeaks(image);

        same(sources, contents(folder), "what is below");
    }

    @Test
    void commitIntoAFullDiskKeepsTheImageThatHasTheData() throws IOException {
        Path base = small.resolve("base.qcow2");
        qemu("create", "-q", "-f", "qcow2", base, 8 * MIB);
        Path top = folder.resolve("top.qcow2");
        qemu("create", "-q", "-f", "qcow2", "-b", base, "-F", "qcow2", top);
        execute("qemu-io", "-f", "qcow2", "-c", "write -P 7 1M 5M", top);
        Map<String, byte[]> before = contents(folder);
        Path flat = folder.resolve("small-flat.raw");
        qemu("convert", "-f", "qcow2", "-O", "raw", top, flat);

        fails("space", List.of("commit", "-f", "qcow2", top));

        assertArrayEquals(before.get("top.qcow2"), Files.readAllBytes(top));
        intact(top, flat);
        qemuFindsNothingWorseThanLeaks(base);
    }

    @Test
    void snapshotAndRepairOnAFullDiskChangeNothingThatMatters() throws IOException {
        Path image = small.resolve("disk.qcow2");
        qemu("create", "-q", "-f", "qcow2", image, 4 * MIB);
        execute("qemu-io", "-f", "qcow2", "-c", "write -P 7 0 2M", image);
        Path flat = folder.resolve("flat.raw");
        qemu("convert", "-f", "qcow2", "-O", "raw", image, flat);
        fillUp();

        // Both need a cluster or two, which may be there inside the image; what counts is that it stays right.
        Output snapshot = benchtop("snapshot", "-f", "qcow2", "-c", "one", image);
        assertTrue(snapshot.exitCode() == 0 || snapshot.err().contains("space"), snapshot.toString());
        intact(image, flat);
        Output check = benchtop("check", "-f", "qcow2", "--repair=all", image);
        assertTrue(check.exitCode() == 0 || check.err().contains("space"), check.toString());
        intact(image, flat);
    }

    private void fillUp() throws IOException {
        try (var out = Files.newOutputStream(small.resolve("filler"))) {
            byte[] page = new byte[4096];
            for (int i = 0; i < 3 * MIB / page.length; i++) {
                out.write(page);
            }
        } catch (IOException full) {
            assertTrue(String.valueOf(full.getMessage()).contains("space"), full.toString());
        }
    }

    private static void intact(Path image, Path flat) {
        qemuFindsNothingWorseThanLeaks(image);
        qemu("compare", "-f", "qcow2", "-F", "raw", image, flat);
    }

    private static void qemuFindsNothingWorseThanLeaks(Path image) {
        Output check = execute("qemu-img", "check", "-f", "qcow2", image);
        assertTrue(check.exitCode() == 0 || check.exitCode() == 3, check.toString());
    }

    @Test
    void readOnlyFilesAreReadAndNeverOpenedForWriting() throws IOException {
        Path source = noise(folder.resolve("source.raw"), MIB);
        Path image = small.resolve("disk.qcow2");
        qemu("convert", "-f", "raw", "-O", "qcow2", source, image);
        Path top = small.resolve("top.qcow2");
        qemu("create", "-q", "-f", "qcow2", "-b", "disk.qcow2", "-F", "qcow2", top);
        Path raw = Files.copy(source, small.resolve("disk.raw"));
        Map<String, byte[]> before = contents(small);
        assertEquals(0, execute("mount", "-o", "remount,ro", small).exitCode());

        List<List<?>> refused = List.of(
                List.of("resize", "-f", "qcow2", image, "2M"),
                List.of("resize", "-f", "raw", raw, "2M"),
                List.of("snapshot", "-f", "qcow2", "-c", "one", image),
                List.of("check", "-f", "qcow2", "--repair=all", image),
                List.of("rebase", "-f", "qcow2", "-b", "", top),
                List.of("commit", "-f", "qcow2", top),
                List.of("convert", "-n", "-f", "raw", "-O", "raw", source, raw),
                List.of("convert", "-n", "-f", "raw", "-O", "qcow2", source, image),
                List.of("convert", "-f", "raw", "-O", "qcow2", source, small.resolve("new.qcow2")),
                List.of("create", "-f", "qcow2", small.resolve("new.qcow2"), "1M"),
                List.of("create", "-f", "raw", small.resolve("new.raw"), "1M"),
                List.of("bench", "-w", "-f", "raw", "-c", 1, raw));
        for (List<?> command : refused) {
            fails("ead-only file system", command);
        }
        ok("info", "-f", "qcow2", image);
        ok("check", "-f", "qcow2", image);
        ok("map", "-f", "qcow2", top);
        ok("compare", "-f", "qcow2", "-F", "raw", top, raw);
        ok("convert", "-f", "qcow2", "-O", "raw", top, folder.resolve("copy.raw"));

        same(before, contents(small), "the read-only file system");
    }
}
