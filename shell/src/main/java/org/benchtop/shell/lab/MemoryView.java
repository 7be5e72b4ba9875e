package org.benchtop.shell.lab;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.BenchtopException;

/**
 * A piece of guest memory as it was when it was captured. All addresses are the guest's own, as the view was asked for.
 * Values are little-endian and need not be aligned. Writing goes to the machine and into this capture.
 */
public final class MemoryView {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int ROW = 16;
    private static final int SHOWN_ROWS = 256;

    private final String machine;
    private final long address;
    private final byte[] content;
    private final Source source;

    /** Where a view comes from. */
    interface Source {
        /** Captures again. */
        byte[] read(long address, int lengthBytes);

        /** Changes the machine's memory. */
        void write(long address, byte[] content);
    }

    MemoryView(String machine, long address, byte[] content, Source source) {
        this.machine = machine;
        this.address = address;
        this.content = content;
        this.source = source;
    }

    /**
     * Some bytes that differ between two captures.
     *
     * @param address of the first one
     */
    public record Difference(long address, byte[] before, byte[] after) {
        @Override
        public String toString() {
            return Hex.address(address) + ": " + hexBytes(before) + " -> " + hexBytes(after);
        }
    }

    /**
     * All differences between two captures of the same range.
     *
     * @param differences by address; neighbouring bytes are one difference
     */
    public record Diff(List<Difference> differences) {
        private static final int SHOWN = 64;

        public Diff {
            differences = List.copyOf(differences);
        }

        /** How many bytes differ. */
        public long bytes() {
            return differences.stream().mapToLong(d -> d.after().length).sum();
        }

        @Override
        public String toString() {
            if (differences.isEmpty()) {
                return "no difference";
            }
            StringBuilder text = new StringBuilder();
            differences.stream().limit(SHOWN).forEach(d -> text.append(d).append('\n'));
            if (differences.size() > SHOWN) {
                text.append("… and ").append(differences.size() - SHOWN).append(" more\n");
            }
            return text.append(bytes()).append(" bytes differ").toString();
        }
    }

    /** The first address. */
    public long address() {
        return address;
    }

    /** How many bytes there are. */
    public int length() {
        return content.length;
    }

    /** A copy of the bytes. */
    public byte[] bytes() {
        return content.clone();
    }

    private int index(long at, int size) {
        long index = at - address;
        if (index < 0 || index > content.length - size) {
            throw BenchtopException.config("address " + Hex.of(at) + "..+" + size + " is outside this view of "
                    + Hex.of(address) + "..+" + Hex.of(content.length));
        }
        return (int) index;
    }

    private MemorySegment segment() {
        return MemorySegment.ofArray(content);
    }

    /** The unsigned byte at an address. */
    public int u8(long at) {
        return content[index(at, 1)] & 0xff;
    }

    /** The unsigned 16-bit value at an address. */
    public int u16(long at) {
        return segment().get(SHORT, index(at, 2)) & 0xffff;
    }

    /** The unsigned 32-bit value at an address. */
    public long u32(long at) {
        return segment().get(INT, index(at, 4)) & 0xffff_ffffL;
    }

    /** The 64-bit value at an address. */
    public long u64(long at) {
        return segment().get(LONG, index(at, 8));
    }

    /** The text at an address up to the first zero byte or the end of the view. */
    public String string(long at) {
        int from = index(at, 1);
        int to = from;
        while (to < content.length && content[to] != 0) {
            to++;
        }
        return new String(content, from, to - from, StandardCharsets.UTF_8);
    }

    /** Writes a byte into the machine and this capture. */
    public MemoryView write8(long at, int value) {
        return write(at, new byte[] {(byte) value});
    }

    /** Writes 16 bits into the machine and this capture. */
    public MemoryView write16(long at, int value) {
        byte[] bytes = new byte[2];
        MemorySegment.ofArray(bytes).set(SHORT, 0, (short) value);
        return write(at, bytes);
    }

    /** Writes 32 bits into the machine and this capture. */
    public MemoryView write32(long at, long value) {
        byte[] bytes = new byte[4];
        MemorySegment.ofArray(bytes).set(INT, 0, (int) value);
        return write(at, bytes);
    }

    /** Writes 64 bits into the machine and this capture. */
    public MemoryView write64(long at, long value) {
        byte[] bytes = new byte[8];
        MemorySegment.ofArray(bytes).set(LONG, 0, value);
        return write(at, bytes);
    }

    /** Writes bytes into the machine and this capture. */
    public MemoryView write(long at, byte[] bytes) {
        int index = index(at, bytes.length);
        source.write(at, bytes);
        System.arraycopy(bytes, 0, content, index, bytes.length);
        return this;
    }

    /** The same range captured now. */
    public MemoryView refresh() {
        return new MemoryView(machine, address, source.read(address, content.length), source);
    }

    /** Addresses where a byte sequence begins. */
    public List<Long> search(byte[] pattern) {
        return find(content, pattern, address);
    }

    /** Addresses where a text begins (UTF-8). */
    public List<Long> search(String text) {
        return search(text.getBytes(StandardCharsets.UTF_8));
    }

    static List<Long> find(byte[] content, byte[] pattern, long address) {
        if (pattern.length == 0) {
            throw BenchtopException.config("search: there is nothing to search for");
        }
        List<Long> found = new ArrayList<>();
        for (int i = 0; i <= content.length - pattern.length; i++) {
            if (content[i] == pattern[0]
                    && java.util.Arrays.equals(content, i, i + pattern.length, pattern, 0, pattern.length)) {
                found.add(address + i);
            }
        }
        return found;
    }

    /**
     * What is different in a later capture of the same range.
     *
     * @throws BenchtopException of kind CONFIG if the ranges are not the same
     */
    public Diff diff(MemoryView later) {
        if (later.address != address || later.content.length != content.length) {
            throw BenchtopException.config("views of different ranges cannot be compared: " + Hex.of(address) + "..+"
                    + Hex.of(content.length) + " and " + Hex.of(later.address) + "..+"
                    + Hex.of(later.content.length));
        }
        List<Difference> differences = new ArrayList<>();
        int i = 0;
        while (i < content.length) {
            if (content[i] == later.content[i]) {
                i++;
                continue;
            }
            int from = i;
            while (i < content.length && content[i] != later.content[i]) {
                i++;
            }
            differences.add(new Difference(
                    address + from,
                    java.util.Arrays.copyOfRange(content, from, i),
                    java.util.Arrays.copyOfRange(later.content, from, i)));
        }
        return new Diff(differences);
    }

    private static String hexBytes(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) {
            text.append(text.isEmpty() ? "" : " ").append(Hex.padded(b & 0xff, 2));
        }
        return text.toString();
    }

    /** The whole view as a hex dump: address, 16 bytes, the same as text; repeated rows are shown once. */
    public String hex() {
        return hex(Integer.MAX_VALUE);
    }

    private String hex(int rows) {
        StringBuilder text = new StringBuilder();
        boolean skipping = false;
        int shown = 0;
        for (int at = 0; at < content.length; at += ROW) {
            int n = Math.min(ROW, content.length - at);
            boolean same = at > 0
                    && n == ROW
                    && at + ROW < content.length
                    && java.util.Arrays.equals(content, at, at + ROW, content, at - ROW, at);
            if (same) {
                if (!skipping) {
                    text.append("*\n");
                }
                skipping = true;
                continue;
            }
            skipping = false;
            if (shown++ == rows) {
                text.append("… ").append(content.length - at).append(" more bytes (hex() shows all)\n");
                break;
            }
            row(text, at, n);
        }
        return text.toString().stripTrailing();
    }

    private void row(StringBuilder text, int at, int n) {
        text.append(Hex.address(address + at)).append("  ");
        StringBuilder ascii = new StringBuilder();
        for (int i = 0; i < ROW; i++) {
            if (i == ROW / 2) {
                text.append(' ');
            }
            if (i < n) {
                int b = content[at + i] & 0xff;
                text.append(Hex.padded(b, 2)).append(' ');
                ascii.append(b >= ' ' && b < 0x7f ? (char) b : '.');
            } else {
                text.append("   ");
            }
        }
        text.append(" |").append(ascii).append("|\n");
    }

    /** The hex dump, at most 256 rows of it. */
    @Override
    public String toString() {
        return hex(SHOWN_ROWS);
    }
}
