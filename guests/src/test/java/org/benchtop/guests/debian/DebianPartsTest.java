package org.benchtop.guests.debian;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.cpio.CpioArchiveEntry;
import org.apache.commons.compress.archivers.cpio.CpioArchiveInputStream;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The parts of the Debian guest builder, without apt. */
class DebianPartsTest {
    @TempDir
    Path folder = Path.of("");

    private static String message(BenchtopException e) {
        return e.getMessage();
    }

    @Test
    void aptLineGivesNameVersionAndSize() {
        AptPackage p = AptPackage.parse("'http://deb.debian.org/pool/b/busybox-static_1%3a1.35.0-4%2bb1_amd64.deb'"
                + " busybox-static_1%3a1.35.0-4+b1_amd64.deb 928188 SHA256:3d3f");

        assertEquals("busybox-static", p.name());
        assertEquals("1:1.35.0-4+b1", p.version());
        assertEquals(928188, p.sizeBytes());
        assertEquals(p, AptPackage.parse(p.line()));
        assertThrows(IllegalArgumentException.class, () -> AptPackage.parse("Reading package lists..."));
    }

    @ParameterizedTest
    @ValueSource(strings = {"xz", "gz", "zst", ""})
    void packageMembersAreFoundInEveryCompression(String compression) throws IOException {
        Path deb = new FakeDeb()
                .folder("usr/bin")
                .file("usr/bin/tool", 0755, new byte[] {1, 2, 3})
                .link("usr/bin/other", "tool", true)
                .write(folder.resolve("x.deb"), compression);
        List<String> seen = new ArrayList<>();

        DebArchive.visit(deb, (path, entry, data) -> seen.add(path + " " + data.readAllBytes().length));

        assertEquals(List.of("usr/bin 0", "usr/bin/tool 3", "usr/bin/other 0"), seen);
    }

    @Test
    void brokenPackageIsOneClearLine() throws IOException {
        Path deb = folder.resolve("broken.deb");
        Files.writeString(deb, "not a package");

        BenchtopException e = assertThrows(BenchtopException.class, () -> DebArchive.visit(deb, (p, entry, d) -> {}));

        assertEquals(ErrorKind.IMAGE, e.kind());
        assertTrue(message(e).startsWith(deb + ": is no usable package: "), message(e));
    }

    @Test
    void memberThatLeavesThePackageIsRefused() throws IOException {
        Path deb = new FakeDeb().file("../etc/passwd", "x").write(folder.resolve("evil.deb"), "gz");

        BenchtopException e = assertThrows(BenchtopException.class, () -> DebArchive.visit(deb, (p, entry, d) -> {}));

        assertTrue(message(e).contains("leaves the package"), message(e));
    }

    @Test
    void moduleTellsWhatItDependsOn() throws IOException {
        ModuleInfo info = ModuleInfo.parse(FakeDeb.module(
                "license=GPL", "softdep=pre: crc32c post: other pre: sha256", "depends=virtio,virtio-ring", "name=x"));

        assertEquals(List.of("virtio", "virtio_ring"), info.depends());
        assertEquals(List.of("crc32c", "sha256"), info.softBefore());
    }

    @Test
    void damagedModulesAreErrorsNotCrashes() {
        byte[] good = FakeDeb.module("depends=a");
        java.util.Random random = new java.util.Random(5);
        for (int i = 0; i < 20_000; i++) {
            byte[] bad = java.util.Arrays.copyOf(good, random.nextInt(good.length + 1));
            for (int j = 0; j < 3 && bad.length > 0; j++) {
                bad[random.nextInt(bad.length)] = (byte) random.nextInt();
            }
            try {
                ModuleInfo.parse(bad);
            } catch (IOException e) {
                assertFalse(String.valueOf(e.getMessage()).isEmpty());
            }
        }
    }

    private KernelModules modules() throws IOException {
        String base = "lib/modules/6.1/";
        Path deb = new FakeDeb()
                .file(base + "kernel/a/virtio_blk.ko", 0644, FakeDeb.module("depends=virtio,virtio_ring"))
                .file(base + "kernel/a/virtio.ko", 0644, FakeDeb.module("depends="))
                .file(base + "kernel/b/virtio-ring.ko", 0644, FakeDeb.module("depends=virtio"))
                .file(base + "kernel/c/ext9.ko", 0644, FakeDeb.module("depends=", "softdep=pre: crc"))
                .file(base + "kernel/c/crc.ko", 0644, FakeDeb.module())
                .file(base + "kernel/c/ext8.ko", 0644, FakeDeb.module("depends=", "softdep=pre: crypto-sum"))
                .file(base + "kernel/c/sum_generic.ko", 0644, FakeDeb.module("alias=crypto-sum", "alias=pci:v*"))
                .file(base + "kernel/c/sum_intel.ko", 0644, FakeDeb.module("alias=crypto-sum"))
                .file(base + "kernel/d/ring1.ko", 0644, FakeDeb.module("depends=ring2"))
                .file(base + "kernel/d/ring2.ko", 0644, FakeDeb.module("depends=ring1"))
                .file(base + "modules.builtin", "kernel/fs/ext4/ext4.ko\n")
                .write(folder.resolve("linux.deb"), "xz");
        return KernelModules.of(new Cache(folder.resolve("cache")), List.of(deb));
    }

    @Test
    void softDependencyByAliasTakesTheGenericImplementation() throws IOException {
        assertEquals(
                List.of("sum_generic", "ext8"),
                List.copyOf(modules().closure(List.of("ext8")).keySet()));
    }

    @Test
    void modulesComeAfterWhatTheyDependOn() throws IOException {
        KernelModules modules = modules();

        assertEquals(
                List.of("virtio", "virtio_ring", "virtio_blk"),
                List.copyOf(modules.closure(List.of("virtio-blk", "virtio")).keySet()));
        assertEquals(
                "lib/modules/6.1/kernel/b/virtio-ring.ko",
                modules.closure(List.of("virtio_ring")).get("virtio_ring"));
        assertEquals(
                List.of("crc", "ext9"),
                List.copyOf(modules.closure(List.of("ext9")).keySet()));
    }

    @Test
    void builtInModulesAreLeftOutAndRingsEnd() throws IOException {
        KernelModules modules = modules();

        assertTrue(modules.closure(List.of("ext4")).isEmpty());
        assertEquals(2, modules.closure(List.of("ring1")).size());
    }

    @Test
    void unknownModuleIsAnErrorThatNamesSimilarOnes() throws IOException {
        KernelModules modules = modules();

        BenchtopException e = assertThrows(BenchtopException.class, () -> modules.closure(List.of("virtio_bl")));

        assertEquals("the kernel has no module \"virtio_bl\" (there is virtio, virtio_blk)", message(e));
    }

    @Test
    void moduleListComesFromTheCacheTheSecondTime() throws IOException {
        modules();
        Files.delete(folder.resolve("linux.deb"));

        KernelModules again =
                KernelModules.of(new Cache(folder.resolve("cache")), List.of(folder.resolve("linux.deb")));

        assertEquals(3, again.closure(List.of("virtio_blk")).size());
    }

    private static Map<String, CpioArchiveEntry> members(byte[] archive) throws IOException {
        Map<String, CpioArchiveEntry> found = new LinkedHashMap<>();
        try (CpioArchiveInputStream in = new CpioArchiveInputStream(new ByteArrayInputStream(archive))) {
            for (CpioArchiveEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                found.put(entry.getName(), entry);
            }
        }
        return found;
    }

    private static CpioArchiveEntry member(Map<String, CpioArchiveEntry> members, String name) {
        CpioArchiveEntry entry = members.get(name);
        if (entry == null) {
            throw new AssertionError("no " + name + " among " + members.keySet());
        }
        return entry;
    }

    private static byte[] bytes(Initramfs image) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        image.writeTo(out);
        return out.toByteArray();
    }

    @Test
    void archiveIsReadByOthersAndPathsFollowTheMergedFolders() throws IOException {
        Initramfs image = new Initramfs();
        image.file("bin/busybox", 04755, new byte[] {7});
        image.file("etc/deep/er/file", 0600, "text");
        image.symbolicLink("init", "/etc/init");
        image.symbolicLink("lib", "somewhere");

        Map<String, CpioArchiveEntry> members = members(bytes(image));

        assertEquals(0104755, member(members, "usr/bin/busybox").getMode());
        assertTrue(member(members, "bin").isSymbolicLink());
        assertTrue(member(members, "etc/deep/er").isDirectory());
        assertEquals(0100600, member(members, "etc/deep/er/file").getMode());
        assertTrue(member(members, "init").isSymbolicLink());
        assertTrue(member(members, "dev/console").isCharacterDevice());
        assertEquals(5, member(members, "dev/console").getRemoteDeviceMaj());
        assertEquals(0, bytes(image).length % 512);
    }

    @Test
    void sameFilesGiveTheSameBytes() throws IOException {
        Initramfs one = new Initramfs();
        one.file("b", 0644, "b");
        one.file("a", 0644, "a");
        Initramfs two = new Initramfs();
        two.file("a", 0644, "a");
        two.file("b", 0644, "b");

        assertArrayEquals(bytes(one), bytes(two));
    }

    @Test
    void hardLinkNeedsItsTarget() throws IOException {
        Initramfs image = new Initramfs();
        image.file("usr/bin/perl", 0755, "x");
        image.hardLink("usr/bin/perl5", "usr/bin/perl");

        assertTrue(image.contains("bin/perl5"));
        assertThrows(IOException.class, () -> image.hardLink("x", "nowhere"));
    }

    /** The block: literals "abcd", then a match of 12 at distance 4, then the literal "!". */
    private static final byte[] LZ4 = {
        0x02, 0x21, 0x4c, 0x18, 9, 0, 0, 0, 0x48, 'a', 'b', 'c', 'd', 4, 0, 0x10, '!', 17, 0, 0, 0
    };

    @Test
    void legacyLz4Decompresses() throws IOException {
        byte[] out = Decompression.of(new ByteArrayInputStream(LZ4)).readAllBytes();

        assertEquals("abcdabcdabcdabcd!", new String(out, StandardCharsets.US_ASCII));
    }

    @Test
    void damagedLz4IsAnError() {
        for (int cut = 9; cut < 15; cut++) {
            byte[] bad = java.util.Arrays.copyOf(LZ4, cut);
            assertThrows(IOException.class, () -> Lz4.legacy(bad), "cut at " + cut);
        }
        byte[] far = LZ4.clone();
        far[13] = 9;
        assertThrows(IOException.class, () -> Lz4.legacy(far));
    }

    private static byte[] bzImage(byte[] payload) {
        ByteBuffer image = ByteBuffer.allocate(2 * 512 + 64 + payload.length).order(ByteOrder.LITTLE_ENDIAN);
        image.put(0x1f1, (byte) 1).putInt(0x202, 0x53726448).putInt(0x248, 64).putInt(0x24c, payload.length);
        image.put(1024 + 64, payload);
        return image.array();
    }

    @Test
    void elfKernelIsTakenOutOfABzImage() throws IOException {
        byte[] elf = FakeDeb.module("vermagic=6.1");
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(elf);
        }

        assertArrayEquals(elf, Vmlinuz.extract(Path.of("vmlinuz"), bzImage(packed.toByteArray())));
    }

    @Test
    void imageWithoutAnElfKernelIsRefused() {
        byte[] none = bzImage(new byte[100]);
        byte[] outside = bzImage(new byte[100]);
        outside[0x24e] = 1;

        for (byte[] bad : List.of(none, outside, new byte[10])) {
            BenchtopException e = assertThrows(BenchtopException.class, () -> Vmlinuz.extract(Path.of("vmlinuz"), bad));
            assertEquals(ErrorKind.IMAGE, e.kind());
            assertTrue(message(e).startsWith("vmlinuz: "), message(e));
        }
    }

    @Test
    void optionsRefuseWhatCannotBeAName() {
        DebianOptions minimal = DebianOptions.minimal();

        assertThrows(IllegalArgumentException.class, () -> minimal.withModules("a b"));
        assertThrows(IllegalArgumentException.class, () -> minimal.withPackages("--allow-downgrades"));
        assertThrows(IllegalArgumentException.class, () -> minimal.withKernel("-o=x"));
        for (String path : List.of("etc/x", "/a/../b", "/", "/a//b")) {
            assertThrows(IllegalArgumentException.class, () -> withFile(path), path);
        }
    }

    private static DebianOptions withFile(String path) {
        return new DebianOptions(
                "cloud",
                List.of(),
                List.of(),
                Optional.empty(),
                Optional.empty(),
                Map.of(path, Path.of("x")),
                DebianOptions.Compression.NONE,
                DebianOptions.Protocol.LINUX64,
                "");
    }

    @Test
    void fileIsWrittenWholeOrNotAtAll() throws IOException {
        Path target = folder.resolve("out/file");
        Cache.write(target, out -> out.write(1));

        BenchtopException e = assertThrows(
                BenchtopException.class,
                () -> Cache.write(target, out -> {
                    out.write(2);
                    throw new IOException("No space left on device");
                }));

        assertEquals(target + ": cannot be written: No space left on device", message(e));
        assertEquals(ErrorKind.HOST, e.kind());
        assertArrayEquals(new byte[] {1}, Files.readAllBytes(target));
        try (var left = Files.list(folder.resolve("out"))) {
            assertEquals(1, left.count());
        }
    }
}
