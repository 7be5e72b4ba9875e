package org.benchtop.guests.debian;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.ar.ArArchiveEntry;
import org.apache.commons.compress.archivers.ar.ArArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.tukaani.xz.LZMA2Options;
import org.tukaani.xz.XZOutputStream;

/** Writes packages and kernel modules for tests. */
final class FakeDeb {
    private final ByteArrayOutputStream data = new ByteArrayOutputStream();
    private final TarArchiveOutputStream tar = new TarArchiveOutputStream(data);

    FakeDeb file(String path, int mode, byte[] content) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry("./" + path);
        entry.setMode(mode);
        entry.setSize(content.length);
        tar.putArchiveEntry(entry);
        tar.write(content);
        tar.closeArchiveEntry();
        return this;
    }

    FakeDeb file(String path, String content) throws IOException {
        return file(path, 0644, content.getBytes(StandardCharsets.UTF_8));
    }

    FakeDeb folder(String path) throws IOException {
        tar.putArchiveEntry(new TarArchiveEntry("./" + path + "/"));
        tar.closeArchiveEntry();
        return this;
    }

    FakeDeb link(String path, String target, boolean symbolic) throws IOException {
        TarArchiveEntry entry =
                new TarArchiveEntry("./" + path, symbolic ? TarConstants.LF_SYMLINK : TarConstants.LF_LINK);
        entry.setLinkName(target);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
        return this;
    }

    /** Writes the package; the member is called data.tar.{xz,gz,zst} or data.tar. */
    Path write(Path file, String compression) throws IOException {
        tar.close();
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (OutputStream out = switch (compression) {
            case "xz" -> new XZOutputStream(packed, new LZMA2Options(0));
            case "gz" -> new GZIPOutputStream(packed);
            case "zst" -> new com.github.luben.zstd.ZstdOutputStream(packed);
            default -> packed;
        }) {
            data.writeTo(out);
        }
        try (ArArchiveOutputStream ar = new ArArchiveOutputStream(Files.newOutputStream(file))) {
            member(ar, "debian-binary", "2.0\n".getBytes(StandardCharsets.US_ASCII));
            member(ar, "control.tar.xz", new byte[] {1, 2, 3});
            member(ar, "data.tar" + (compression.isEmpty() ? "" : "." + compression), packed.toByteArray());
        }
        return file;
    }

    private static void member(ArArchiveOutputStream ar, String name, byte[] content) throws IOException {
        ar.putArchiveEntry(new ArArchiveEntry(name, content.length));
        ar.write(content);
        ar.closeArchiveEntry();
    }

    /** A 64-bit ELF object with a section .modinfo of these words. */
    static byte[] module(String... words) {
        byte[] info = (String.join("\0", words) + "\0").getBytes(StandardCharsets.UTF_8);
        byte[] names = "\0.modinfo\0.shstrtab\0".getBytes(StandardCharsets.UTF_8);
        int infoAt = 64;
        int namesAt = infoAt + info.length;
        int table = namesAt + names.length + 7 & -8;
        ByteBuffer elf = ByteBuffer.allocate(table + 3 * 64).order(ByteOrder.LITTLE_ENDIAN);
        elf.putInt(0, 0x464c457f).put(4, (byte) 2).put(5, (byte) 1);
        elf.putLong(0x28, table)
                .putShort(0x3a, (short) 64)
                .putShort(0x3c, (short) 3)
                .putShort(0x3e, (short) 2);
        elf.put(infoAt, info).put(namesAt, names);
        section(elf, table + 64, 1, infoAt, info.length);
        section(elf, table + 128, 10, namesAt, names.length);
        return elf.array();
    }

    private static void section(ByteBuffer elf, int at, int name, int offset, int size) {
        elf.putInt(at, name).putLong(at + 0x18, offset).putLong(at + 0x20, size);
    }
}
