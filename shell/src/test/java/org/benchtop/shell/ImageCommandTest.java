package org.benchtop.shell;

import static org.benchtop.shell.ImageCli.benchtop;
import static org.benchtop.shell.ImageCli.execute;
import static org.benchtop.shell.ImageCli.ok;
import static org.benchtop.shell.ImageCli.qemu;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.shell.ImageCli.Output;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code benchtop image} against {@code qemu-img}, in both directions. */
final class ImageCommandTest {
    private static final int MIB = 1 << 20;
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder = Path.of("");

    @BeforeEach
    void requireTools() {
        Assumptions.assumeTrue(LinuxHost.available(), "needs Linux on x86-64");
        Assumptions.assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/qemu-img")), "needs qemu-img (Debian package qemu-utils)");
    }

    private Path path(String name) {
        return folder.resolve(name);
    }

    /** A raw image with data, zeroes, and data again at odd places. */
    private Path raw(String name, int bytes, long seed) throws IOException {
        byte[] content = new byte[bytes];
        Random random = new Random(seed);
        for (int i = 0; i < 12; i++) {
            int at = random.nextInt(bytes / 512) * 512;
            int length = Math.min(bytes - at, (1 + random.nextInt(400)) * 512);
            if (i % 3 == 0) {
                Arrays.fill(content, at, at + length, (byte) (i + 1));
            } else {
                byte[] noise = new byte[length];
                random.nextBytes(noise);
                System.arraycopy(noise, 0, content, at, length);
            }
        }
        return Files.write(path(name), content);
    }

    @Test
    void everyKindOfNewImageIsRightForQemu() throws IOException {
        String[] kinds = {
            "",
            "compat=0.10",
            "cluster_size=512",
            "cluster_size=2M",
            "refcount_bits=1",
            "refcount_bits=64,cluster_size=4k",
            "lazy_refcounts=on",
            "extended_l2=on",
            "compression_type=zstd",
            "preallocation=metadata",
            "preallocation=falloc,cluster_size=4k",
            "preallocation=full",
            "preallocation=metadata,extended_l2=on",
        };
        Path content = raw("content.raw", 3 * MIB + 512, 1);
        for (String kind : kinds) {
            Path ours = path("ours.qcow2");
            Path theirs = path("theirs.qcow2");
            List<String> options = kind.isEmpty() ? List.of() : List.of("-o", kind);
            List<Object> words = new ArrayList<>(List.of("create", "-q", "-f", "qcow2"));
            words.addAll(options);
            List<Object> mine = new ArrayList<>(words);
            mine.addAll(List.of(ours, 3 * MIB + 512));
            List<Object> reference = new ArrayList<>(words);
            reference.addAll(List.of(theirs, 3 * MIB + 512));
            ok(mine.toArray());
            qemu(reference.toArray());
            qemu("check", "-f", "qcow2", ours);
            JsonNode ourInfo = JSON.readTree(qemu("info", "-f", "qcow2", "--output=json", ours));
            JsonNode theirInfo = JSON.readTree(qemu("info", "-f", "qcow2", "--output=json", theirs));
            for (String field : List.of("virtual-size", "cluster-size", "format-specific")) {
                assertEquals(theirInfo.get(field), ourInfo.get(field), kind + " " + field);
            }
            JsonNode told = JSON.readTree(ok("info", "-f", "qcow2", "--output=json", theirs));
            for (String field : List.of("virtual-size", "cluster-size", "format", "dirty-flag", "format-specific")) {
                assertEquals(theirInfo.get(field), told.get(field), kind + " " + field + " as we tell it");
            }
            ok("convert", "-n", "-f", "raw", "-O", "qcow2", content, theirs);
            qemu("check", "-f", "qcow2", theirs);
            qemu("compare", "-f", "raw", "-F", "qcow2", content, theirs);
            ok("check", "-f", "qcow2", theirs);
            qemu("convert", "-n", "-f", "raw", "-O", "qcow2", content, ours);
            ok("check", "-f", "qcow2", ours);
            assertEquals(
                    "Images are identical.",
                    ok("compare", "-f", "raw", "-F", "qcow2", content, ours).strip(),
                    kind);
        }
    }

    @Test
    void convertedImagesHoldTheSame() throws IOException {
        Path content = raw("content.raw", 5 * MIB, 2);
        for (String kind : List.of(
                "-o compat=0.10",
                "-c",
                "-c -o compression_type=zstd",
                "-c -o cluster_size=4k",
                "-o extended_l2=on",
                "-o cluster_size=512")) {
            Path made = path("made.qcow2");
            List<Object> words = new ArrayList<>(List.of("convert", "-f", "raw", "-O", "qcow2"));
            words.addAll(List.of(kind.split(" ")));
            List<Object> ours = new ArrayList<>(words);
            ours.addAll(List.of(content, made));
            ok(ours.toArray());
            qemu("check", "-f", "qcow2", made);
            qemu("compare", "-f", "raw", "-F", "qcow2", content, made);
            Path theirs = path("theirs.qcow2");
            words.addAll(List.of(content, theirs));
            qemu(words.toArray());
            Path back = path("back.raw");
            ok("convert", "-f", "qcow2", "-O", "raw", theirs, back);
            assertEquals(-1, Files.mismatch(content, back), kind);
            ok("convert", "-f", "qcow2", "-O", "raw", made, back);
            assertEquals(-1, Files.mismatch(content, back), kind);
            ok("check", "-f", "qcow2", theirs);
        }
    }

    @Test
    void mapsAgreeWithQemu() throws IOException {
        Path base = path("base.qcow2");
        qemu("convert", "-f", "raw", "-O", "qcow2", raw("content.raw", 4 * MIB, 3), base);
        Path top = path("top.qcow2");
        qemu("create", "-q", "-f", "qcow2", "-b", "base.qcow2", "-F", "qcow2", top, 6 * MIB);
        execute("qemu-io", "-f", "qcow2", "-c", "write -P 7 1M 100k", "-c", "write -z 2M 256k", top);

        JsonNode theirs = JSON.readTree(qemu("map", "-f", "qcow2", "--output=json", top));
        JsonNode ours = JSON.readTree(ok("map", "-f", "qcow2", "--output=json", top));

        assertEquals(theirs.size(), ours.size(), () -> theirs + " and " + ours);
        for (int i = 0; i < theirs.size(); i++) {
            for (String field : List.of("start", "length", "depth", "present", "zero", "data", "offset")) {
                assertEquals(theirs.get(i).get(field), ours.get(i).get(field), "extent " + i + " " + field);
            }
        }
    }

    @Test
    void snapshotsWorkInBothDirections() throws IOException {
        Path image = path("disk.qcow2");
        Path first = raw("first.raw", 2 * MIB, 4);
        Path second = raw("second.raw", 2 * MIB, 5);
        Path third = raw("third.raw", 2 * MIB, 6);
        ok("convert", "-f", "raw", "-O", "qcow2", "-o", "cluster_size=4k", first, image);
        ok("snapshot", "-c", "one", image);
        qemu("check", "-f", "qcow2", image);
        ok("convert", "-n", "-f", "raw", "-O", "qcow2", "-S", "0", second, image);
        qemu("check", "-f", "qcow2", image);
        qemu("snapshot", "-c", "two", image);
        ok("convert", "-n", "-f", "raw", "-O", "qcow2", "-S", "0", third, image);
        qemu("check", "-f", "qcow2", image);
        ok("check", "-f", "qcow2", image);
        String list = ok("snapshot", "-l", image);
        assertTrue(list.contains("one") && list.contains("two"), list);
        assertEquals(
                0, benchtop("compare", "-f", "raw", "-F", "qcow2", third, image).exitCode());

        ok("snapshot", "-a", "one", image);
        qemu("check", "-f", "qcow2", image);
        qemu("compare", "-f", "raw", "-F", "qcow2", first, image);
        qemu("snapshot", "-a", "two", image);
        ok("check", "-f", "qcow2", image);
        ok("compare", "-f", "raw", "-F", "qcow2", second, image);
        ok("snapshot", "-d", "one", image);
        qemu("check", "-f", "qcow2", image);
        ok("snapshot", "-d", "2", image);
        qemu("check", "-f", "qcow2", image);
        qemu("compare", "-f", "raw", "-F", "qcow2", second, image);
        assertTrue(benchtop("snapshot", "-a", "one", image).err().contains("there is no snapshot \"one\""));
    }

    @Test
    void checkFindsAndRepairsWhatIsWrong() throws IOException {
        Path image = path("disk.qcow2");
        Path content = raw("content.raw", 2 * MIB, 7);
        ok("convert", "-f", "raw", "-O", "qcow2", content, image);
        byte[] good = Files.readAllBytes(image);

        byte[] leaked = Arrays.copyOf(good, good.length + 65536);
        leaked[2 * 65536 + 2 * (good.length / 65536) + 1] = 1;
        Files.write(image, leaked);
        assertEquals(3, benchtop("check", "-f", "qcow2", image).exitCode());
        assertEquals(3, execute("qemu-img", "check", "-f", "qcow2", image).exitCode(), "the same for QEMU");
        assertEquals(0, benchtop("check", "-f", "qcow2", "-r", "leaks", image).exitCode());
        qemu("check", "-f", "qcow2", image);

        byte[] uncounted = good.clone();
        uncounted[2 * 65536 + 2 * 5 + 1] = 0;
        Files.write(image, uncounted);
        assertEquals(2, benchtop("check", "-f", "qcow2", image).exitCode());
        assertEquals(0, benchtop("check", "-f", "qcow2", "--repair=all", image).exitCode());
        qemu("check", "-f", "qcow2", image);
        qemu("compare", "-f", "raw", "-F", "qcow2", content, image);

        byte[] noBlock = good.clone();
        Arrays.fill(noBlock, 65536, 65536 + 8, (byte) 0x11);
        Files.write(image, noBlock);
        assertEquals(2, benchtop("check", "-f", "qcow2", image).exitCode());
        assertEquals(0, benchtop("check", "-f", "qcow2", "-r", "all", image).exitCode());
        qemu("check", "-f", "qcow2", image);
        qemu("compare", "-f", "raw", "-F", "qcow2", content, image);
    }

    @Test
    void resizedImagesKeepTheirContent() throws IOException {
        Path image = path("disk.qcow2");
        Path content = raw("content.raw", 2 * MIB, 8);
        ok("convert", "-f", "raw", "-O", "qcow2", "-o", "cluster_size=1k", content, image);
        ok("resize", image, "+61M");
        qemu("check", "-f", "qcow2", image);
        qemu("compare", "-f", "raw", "-F", "qcow2", content, image);
        Output refused = benchtop("resize", image, "1M");
        assertEquals(2, refused.exitCode());
        assertTrue(refused.err().contains("--shrink"), refused.err());
        ok("resize", "--shrink", image, "1M");
        qemu("check", "-f", "qcow2", image);
        ok("resize", image, "2M");
        byte[] half = Arrays.copyOf(Files.readAllBytes(content), 2 * MIB);
        Arrays.fill(half, MIB, 2 * MIB, (byte) 0);
        Files.write(content, half);
        qemu("compare", "-f", "raw", "-F", "qcow2", content, image);
    }

    @Test
    void rebaseAndCommitKeepTheContent() throws IOException {
        Path old = raw("old.raw", 2 * MIB, 9);
        Path other = raw("new.raw", MIB, 10);
        Path top = path("top.qcow2");
        ok("create", "-q", "-f", "qcow2", "-b", "old.raw", "-F", "raw", top);
        execute("qemu-io", "-f", "qcow2", "-c", "write -P 9 100k 300k", "-c", "write -z 1M 64k", top);
        Path expected = path("expected.raw");
        qemu("convert", "-f", "qcow2", "-O", "raw", top, expected);

        ok("rebase", "-f", "qcow2", "-b", "new.raw", "-F", "raw", top);
        qemu("check", "-f", "qcow2", top);
        qemu("compare", "-f", "raw", "-F", "qcow2", expected, top);
        ok("rebase", "-f", "qcow2", "-b", "", top);
        qemu("compare", "-f", "raw", "-F", "qcow2", expected, top);
        assertFalse(qemu("info", top).contains("backing"));

        ok("rebase", "-u", "-f", "qcow2", "-b", "old.raw", "-F", "raw", top);
        ok("commit", "-q", "-f", "qcow2", top);
        assertArrayEquals(Files.readAllBytes(expected), Files.readAllBytes(old));
        qemu("check", "-f", "qcow2", top);
        qemu("compare", "-f", "raw", "-F", "qcow2", expected, top);
        assertEquals(MIB, Files.size(other));
    }

    @Test
    void badInputIsOneLineAndChangesNothing() throws IOException {
        Path raw = raw("content.raw", MIB, 11);
        byte[] before = Files.readAllBytes(raw);
        Path target = path("target.qcow2");
        Files.write(target, new byte[] {1, 2, 3});
        String[][] cases = {
            {"no such file", "info", path("absent.img").toString()},
            {"not a qcow2 image", "info", "-f", "qcow2", raw.toString()},
            {"less than the header", "info", "-f", "qcow2", target.toString()},
            {"unknown image format \"qcow3\"", "convert", "-f", "qcow3", raw.toString(), target.toString()},
            {
                "cluster_size=3k",
                "convert",
                "-f",
                "raw",
                "-O",
                "qcow2",
                "-o",
                "cluster_size=3k",
                raw.toString(),
                target.toString()
            },
            {
                "no option \"colour\"",
                "create",
                "-f",
                "qcow2",
                "-o",
                "colour=red",
                path("x.qcow2").toString(),
                "1M"
            },
            {"not a size", "create", "-f", "qcow2", path("x.qcow2").toString(), "many"},
            {
                "give -F",
                "create",
                "-f",
                "qcow2",
                "-b",
                "content.raw",
                path("x.qcow2").toString(),
                "1M"
            },
            {"same file", "convert", "-f", "raw", "-O", "qcow2", raw.toString(), raw.toString()},
        };
        for (String[] words : cases) {
            Output output = benchtop((Object[]) Arrays.copyOfRange(words, 1, words.length));
            assertTrue(output.exitCode() == 2 || output.exitCode() == 3, () -> List.of(words) + ": " + output);
            assertTrue(output.err().contains(words[0]), () -> List.of(words) + ": " + output);
            assertEquals(1, output.err().strip().lines().count(), () -> List.of(words) + ": " + output);
        }
        assertArrayEquals(before, Files.readAllBytes(raw));
        assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(target));
        try (var files = Files.list(folder)) {
            assertEquals(2, files.count(), "nothing half-written is left");
        }
    }

    @Test
    void externalDataFilesWorkInBothDirections() throws IOException {
        Path content = raw("content.raw", 2 * MIB, 12);
        Path image = path("disk.qcow2");
        ok("create", "-q", "-f", "qcow2", "-o", "data_file=" + path("data.raw") + ",data_file_raw=on", image, 2 * MIB);
        ok("convert", "-n", "-f", "raw", "-O", "qcow2", content, image);
        qemu("check", "-f", "qcow2", image);
        qemu("compare", "-f", "raw", "-F", "qcow2", content, image);
        byte[] data = Arrays.copyOf(Files.readAllBytes(path("data.raw")), 2 * MIB);
        assertArrayEquals(Files.readAllBytes(content), data);
        Path theirs = path("theirs.qcow2");
        qemu("create", "-q", "-f", "qcow2", "-o", "data_file=" + path("theirs.raw"), theirs, 2 * MIB);
        qemu("convert", "-n", "-f", "raw", "-O", "qcow2", content, theirs);
        ok("check", "-f", "qcow2", theirs);
        ok("compare", "-f", "raw", "-F", "qcow2", content, theirs);
    }

    @Test
    void imagesOfOtherHypervisorsAreSourcesOfEveryCommand() throws IOException {
        Path raw = raw("disk.raw", 8 * MIB, 31);
        String[][] kinds = {
            {"vpc", "subformat=dynamic", "vhd"},
            {"vpc", "subformat=fixed", "vhd"},
            {"vhdx", "subformat=dynamic", "vhdx"},
            {"vmdk", "subformat=monolithicSparse", "vmdk"},
            {"vmdk", "subformat=streamOptimized", "vmdk"},
            {"vmdk", "subformat=twoGbMaxExtentSparse", "vmdk"},
        };
        for (String[] kind : kinds) {
            String options = kind[1] + (kind[0].equals("vpc") ? ",force_size=on" : "");
            Path image = path("other." + kind[2]);
            qemu("convert", "-O", kind[0], "-o", options, raw, image);

            JsonNode info = JSON.readTree(ok("info", "-f", kind[2], "--output=json", image));
            assertEquals(kind[2], info.get("format").asText());
            assertEquals(8 * MIB, info.get("virtual-size").asLong(), kind[1]);
            ok("compare", "-f", kind[2], "-F", "raw", image, raw);
            ok("convert", "-f", kind[2], "-O", "raw", image, path("back.raw"));
            assertEquals(-1, Files.mismatch(raw, path("back.raw")), kind[1]);
            ok("convert", "-f", kind[2], "-O", "qcow2", image, path("back.qcow2"));
            qemu("compare", "-f", "qcow2", "-F", "raw", path("back.qcow2"), raw);
            long mapped = 0;
            for (JsonNode extent : JSON.readTree(ok("map", "-f", kind[2], "--output=json", image))) {
                assertEquals(mapped, extent.get("start").asLong(), kind[1]);
                mapped += extent.get("length").asLong();
            }
            assertEquals(8 * MIB, mapped, kind[1]);
            Output refused = benchtop("resize", "-f", kind[2], image, "9M");
            assertEquals(3, refused.exitCode());
            assertTrue(refused.err().contains("read-only"), refused.err());
        }
    }

    @Test
    void snapshotIsConvertedInsteadOfThePresentState() throws IOException {
        Path before = raw("before.raw", 4 * MIB, 32);
        Path image = path("disk.qcow2");
        qemu("convert", "-O", "qcow2", before, image);
        qemu("snapshot", "-c", "first", image);
        execute("qemu-io", "-f", "qcow2", "-c", "write -P 9 0 3M", image);
        byte[] present = Files.readAllBytes(image);

        ok("convert", "-f", "qcow2", "-l", "first", "-O", "raw", image, path("by-name.raw"));
        ok("convert", "-f", "qcow2", "-l", "snapshot.id=1", "-O", "raw", image, path("by-id.raw"));
        Output unknown = benchtop("convert", "-f", "qcow2", "-l", "nothing", image, path("none.raw"));

        assertEquals(-1, Files.mismatch(before, path("by-name.raw")));
        assertEquals(-1, Files.mismatch(before, path("by-id.raw")));
        assertEquals(2, unknown.exitCode());
        assertTrue(unknown.err().contains("no snapshot \"nothing\" (snapshots: first)"), unknown.err());
        assertFalse(Files.exists(path("none.raw")));
        assertArrayEquals(present, Files.readAllBytes(image));
    }
}
