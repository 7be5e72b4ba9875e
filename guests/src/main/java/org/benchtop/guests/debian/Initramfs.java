package org.benchtop.guests.debian;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/**
 * Files for an initial RAM disk, written as a cpio archive in the format newc (Linux
 * Documentation/driver-api/early-userspace/buffer-format.rst). Same files, same bytes: no times, owners or host inode
 * numbers.
 *
 * <p>The folders bin, sbin, lib and lib64 are links into usr, as in Debian; paths follow them.
 */
final class Initramfs {
    private static final int DIRECTORY = 0040000;
    private static final int REGULAR = 0100000;
    private static final int LINK = 0120000;
    private static final int CHARACTER_DEVICE = 0020000;
    private static final byte[] NOTHING = {};
    private static final int ALIGNMENT = 4;

    private final Map<String, Member> members = new TreeMap<>();

    private record Member(int mode, byte[] content, int major, int minor) {}

    Initramfs() {
        for (String folder : new String[] {"bin", "sbin", "lib", "lib64"}) {
            members.put(folder, new Member(LINK | 0777, ("usr/" + folder).getBytes(StandardCharsets.UTF_8), 0, 0));
            folder("usr/" + folder, 0755);
        }
        for (String folder : new String[] {"dev", "proc", "sys", "run", "etc", "root", "mnt", "var"}) {
            folder(folder, 0755);
        }
        folder("tmp", 01777);
        // The kernel opens it for init before anything is mounted.
        members.put("dev/console", new Member(CHARACTER_DEVICE | 0600, NOTHING, 5, 1));
        members.put("dev/null", new Member(CHARACTER_DEVICE | 0666, NOTHING, 1, 3));
    }

    private static String merged(String path) {
        String first = path.indexOf('/') < 0 ? path : path.substring(0, path.indexOf('/'));
        return switch (first) {
            case "bin", "sbin", "lib", "lib64" -> "usr/" + path;
            default -> path;
        };
    }

    private void put(String path, Member member) {
        String merged = merged(path);
        int slash = merged.lastIndexOf('/');
        if (slash > 0) {
            folder(merged.substring(0, slash), 0755);
        }
        members.put(merged, member);
    }

    /** A folder and those above it; one that is there stays. */
    void folder(String path, int permissions) {
        String merged = merged(path);
        if (members.containsKey(merged)) {
            return;
        }
        put(merged, new Member(DIRECTORY | permissions & 07777, NOTHING, 0, 0));
    }

    void file(String path, int permissions, byte[] content) {
        put(path, new Member(REGULAR | permissions & 07777, content, 0, 0));
    }

    void file(String path, int permissions, String content) {
        file(path, permissions, content.getBytes(StandardCharsets.UTF_8));
    }

    void symbolicLink(String path, String target) {
        Member there = members.get(merged(path));
        if (there == null || (there.mode & DIRECTORY) == 0) {
            put(path, new Member(LINK | 0777, target.getBytes(StandardCharsets.UTF_8), 0, 0));
        }
    }

    /** The same content at another path. */
    void hardLink(String path, String target) throws IOException {
        Member there = members.get(merged(target));
        if (there == null) {
            throw new IOException(path + " is a link to " + target + ", which is not there");
        }
        put(path, there);
    }

    boolean contains(String path) {
        return members.containsKey(merged(path));
    }

    void writeTo(OutputStream out) throws IOException {
        long written = 0;
        int inode = 1;
        for (Map.Entry<String, Member> entry : members.entrySet()) {
            written += write(out, entry.getKey(), entry.getValue(), inode++);
        }
        written += write(out, "TRAILER!!!", new Member(0, NOTHING, 0, 0), 0);
        // Loaders put it at a page; an archive of whole sectors is what cpio itself writes.
        out.write(new byte[(int) (-written & 511)]);
    }

    private static long write(OutputStream out, String name, Member member, int inode) throws IOException {
        byte[] path = (name + "\0").getBytes(StandardCharsets.UTF_8);
        boolean folder = (member.mode & 0170000) == DIRECTORY;
        String header = "070701" + hex(inode) + hex(member.mode) + hex(0) + hex(0) + hex(folder ? 2 : 1) + hex(0)
                + hex(member.content.length) + hex(0) + hex(0) + hex(member.major) + hex(member.minor)
                + hex(path.length) + hex(0);
        out.write(header.getBytes(StandardCharsets.US_ASCII));
        out.write(path);
        int headPadding = -(header.length() + path.length) & ALIGNMENT - 1;
        out.write(new byte[headPadding]);
        out.write(member.content);
        int padding = -member.content.length & ALIGNMENT - 1;
        out.write(new byte[padding]);
        return header.length() + path.length + headPadding + (long) member.content.length + padding;
    }

    private static String hex(int value) {
        return String.format("%08x", value);
    }
}
