package org.benchtop.guests.debian;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * What a kernel module says about itself in its section {@code .modinfo}.
 *
 * @param depends modules that must be there before
 * @param softBefore modules that should be there before (softdep pre), by name or alias
 * @param aliases other names, without those that are patterns of devices
 */
record ModuleInfo(List<String> depends, List<String> softBefore, List<String> aliases) {
    private static final Pattern PLAIN_NAME = Pattern.compile("[A-Za-z0-9_-]+");

    private static final int SECTION_HEADERS_AT = 0x28;
    private static final int SECTION_HEADER_SIZE_AT = 0x3a;
    private static final int SECTION_HEADER_BYTES = 64;

    /** Reads a 64-bit little-endian ELF object. */
    static ModuleInfo parse(byte[] elf) throws IOException {
        try {
            return ofWords(section(ByteBuffer.wrap(elf).order(ByteOrder.LITTLE_ENDIAN), elf));
        } catch (IndexOutOfBoundsException | IllegalArgumentException | ArithmeticException e) {
            throw new IOException("is no kernel module", e);
        }
    }

    private static String section(ByteBuffer file, byte[] elf) throws IOException {
        if (elf.length < 64 || file.getInt(0) != 0x464c457f) {
            throw new IOException("is no ELF file");
        }
        long table = file.getLong(SECTION_HEADERS_AT);
        int size = file.getShort(SECTION_HEADER_SIZE_AT) & 0xffff;
        int count = file.getShort(0x3c) & 0xffff;
        int names = file.getShort(0x3e) & 0xffff;
        if (size < SECTION_HEADER_BYTES || table < 0 || table > elf.length) {
            throw new IOException("has no section headers");
        }
        int base = (int) table;
        int nameTable = Math.toIntExact(file.getLong(base + names * size + 0x18));
        for (int i = 0; i < count; i++) {
            int header = base + i * size;
            int name = nameTable + file.getInt(header);
            if (name >= 0 && startsWith(elf, name, ".modinfo\0")) {
                int offset = Math.toIntExact(file.getLong(header + 0x18));
                int length = Math.toIntExact(file.getLong(header + 0x20));
                Objects.checkFromIndexSize(offset, length, elf.length);
                return new String(Arrays.copyOfRange(elf, offset, offset + length), StandardCharsets.UTF_8);
            }
        }
        throw new IOException("has no .modinfo");
    }

    private static boolean startsWith(byte[] data, int at, String text) {
        byte[] wanted = text.getBytes(StandardCharsets.US_ASCII);
        return at + wanted.length <= data.length
                && Arrays.equals(data, at, at + wanted.length, wanted, 0, wanted.length);
    }

    private static ModuleInfo ofWords(String words) {
        List<String> depends = new ArrayList<>();
        List<String> soft = new ArrayList<>();
        List<String> aliases = new ArrayList<>();
        for (String word : words.split("\0", -1)) {
            if (word.startsWith("depends=")) {
                addNames(word.substring("depends=".length()).split(",", -1), depends);
            } else if (word.startsWith("softdep=")) {
                addSoft(word.substring("softdep=".length()), soft);
            } else if (word.startsWith("alias=")) {
                String alias = word.substring("alias=".length());
                if (PLAIN_NAME.matcher(alias).matches()) {
                    aliases.add(normal(alias));
                }
            }
        }
        return new ModuleInfo(List.copyOf(depends), List.copyOf(soft), List.copyOf(aliases));
    }

    private static void addSoft(String text, List<String> soft) {
        boolean before = false;
        for (String word : text.split("\\s+", -1)) {
            if (word.endsWith(":")) {
                before = word.equals("pre:");
            } else if (before) {
                addNames(new String[] {word}, soft);
            }
        }
    }

    private static void addNames(String[] names, List<String> to) {
        for (String name : names) {
            if (!name.isBlank()) {
                to.add(normal(name.strip()));
            }
        }
    }

    /** Dashes and underscores mean the same in a module's name. */
    static String normal(String name) {
        return name.replace('-', '_');
    }
}
