package org.benchtop.guests.compile;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.benchtop.guests.GuestImage;
import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.compile.Assembler.Fixup;
import org.benchtop.spi.BenchtopException;

/** Places code and data in guest memory, patches references and writes the ELF file. */
final class Linker {
    /** Symbols that the runtime looks lines up with: 8-byte entries (address, line, method number) and their count. */
    static final String LINES = "line_table";

    static final String LINES_END = "line_table_end";

    /** Addresses (4 bytes each) of the method names, by method number. */
    static final String METHODS = "method_table";

    /** The first byte after everything the image uses. */
    static final String END = "image_end";

    private static final int PAGE = 4096;
    private static final long LIMIT = 1L << 30;

    private record Placed(long base, byte[] content, List<Fixup> fixups) {}

    private final Program program;
    private final Map<String, Long> symbols = new TreeMap<>();
    private final List<GuestImage.Line> lines = new ArrayList<>();
    private final List<Placed> placed = new ArrayList<>();

    private Linker(Program program) {
        this.program = program;
    }

    static GuestImage link(Program program, List<String> initializers, String entry, boolean entryReturnsCode) {
        return new Linker(program)
                .run(
                        thunk(Program.INITIALIZERS, initializers, false),
                        thunk(Program.ENTRY, List.of(entry), entryReturnsCode));
    }

    private GuestImage run(CodeBlob... thunks) {
        Monitor.Image monitor = Monitor.build();
        symbols.putAll(monitor.symbols());
        placed.add(new Placed(
                GuestLayout.MONITOR, monitor.blob().code(), monitor.blob().fixups()));
        List<CodeBlob> blobs = new ArrayList<>(program.blobs());
        blobs.addAll(List.of(thunks));

        long textEnd = placeText(blobs);
        program.aliases().forEach((name, symbol) -> symbols.put(name, address(symbol)));
        long readOnlyBase = alignUp(textEnd, PAGE);
        byte[] readOnly = readOnlyData(readOnlyBase, blobs);
        placed.add(new Placed(readOnlyBase, readOnly, List.of()));
        long dataBase = alignUp(readOnlyBase + readOnly.length, PAGE);
        Data data = placeAreas(dataBase);
        symbols.put(END, data.end);
        byte[] text = new byte[(int) (textEnd - GuestLayout.TEXT)];
        Arrays.fill(text, (byte) 0xcc);
        for (Placed part : placed) {
            patch(part);
            if (part.base >= GuestLayout.TEXT && part.base < textEnd) {
                System.arraycopy(part.content, 0, text, (int) (part.base - GuestLayout.TEXT), part.content.length);
            }
        }
        int all = ElfWriter.READABLE | ElfWriter.WRITABLE | ElfWriter.EXECUTABLE;
        int code = ElfWriter.READABLE | ElfWriter.EXECUTABLE;
        int writable = ElfWriter.READABLE | ElfWriter.WRITABLE;
        byte[] monitorCode = monitor.blob().code();
        List<ElfWriter.Segment> segments = List.of(
                new ElfWriter.Segment(".monitor", GuestLayout.MONITOR, monitorCode, monitorCode.length, all),
                new ElfWriter.Segment(".shared", GuestLayout.SHARED, new byte[0], 0x2000, writable),
                new ElfWriter.Segment(
                        ".stacks",
                        GuestLayout.STACKS,
                        new byte[0],
                        GuestLayout.RESULTS + GuestLayout.RESULTS_SIZE - GuestLayout.STACKS,
                        writable),
                new ElfWriter.Segment(".text", GuestLayout.TEXT, text, text.length, code),
                new ElfWriter.Segment(".rodata", readOnlyBase, readOnly, readOnly.length, ElfWriter.READABLE),
                new ElfWriter.Segment(".data", dataBase, data.initialised, data.initialised.length, writable),
                new ElfWriter.Segment(".bss", data.zeroedBase, new byte[0], data.end - data.zeroedBase, writable));
        byte[] elf = ElfWriter.write(
                segments.stream().filter(segment -> segment.memorySize() > 0).toList(),
                monitor.longModeEntry(),
                monitor.pvhEntry(),
                symbols);
        return new GuestImage(elf, symbols, lines);
    }

    private static CodeBlob thunk(String symbol, List<String> calls, boolean returnsCode) {
        Assembler asm = new Assembler();
        calls.forEach(asm::call);
        if (!returnsCode) {
            asm.movImmediate(Assembler.RAX, 0);
        }
        asm.ret();
        return new CodeBlob(symbol, asm.finish(), asm.fixups(), List.of());
    }

    private long placeText(List<CodeBlob> blobs) {
        long address = GuestLayout.TEXT;
        for (CodeBlob blob : blobs) {
            address = alignUp(address, 16);
            symbols.put(blob.symbol(), address);
            placed.add(new Placed(address, blob.code(), blob.fixups()));
            address += blob.code().length;
        }
        return address;
    }

    /** Texts (length, then bytes), the line table and the method names. */
    private byte[] readOnlyData(long base, List<CodeBlob> blobs) {
        List<byte[]> parts = new ArrayList<>();
        long address = base;
        for (Map.Entry<String, String> text : new TreeMap<>(program.texts()).entrySet()) {
            symbols.put(text.getKey(), address);
            byte[] part = text(text.getValue());
            parts.add(part);
            address += part.length;
        }
        ByteBuffer names = ByteBuffer.allocate(4 * blobs.size()).order(ByteOrder.LITTLE_ENDIAN);
        int entries = blobs.stream().mapToInt(blob -> blob.lines().size() + 1).sum();
        ByteBuffer table = ByteBuffer.allocate(8 * entries).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < blobs.size(); i++) {
            CodeBlob blob = blobs.get(i);
            String place = program.place(blob.symbol());
            names.putInt((int) address);
            byte[] part = text(place);
            parts.add(part);
            address += part.length;
            long start = address(blob.symbol());
            String file = place.substring(place.lastIndexOf('(') + 1);
            if (blob.lines().isEmpty() || blob.lines().getFirst().offset() > 0) {
                int first = blob.lines().isEmpty() ? 0 : blob.lines().getFirst().line();
                line(table, start, first, i);
                lines.add(new GuestImage.Line(start, blob.symbol(), file, first));
            }
            for (CodeBlob.Line line : blob.lines()) {
                line(table, start + line.offset(), line.line(), i);
                lines.add(new GuestImage.Line(start + line.offset(), blob.symbol(), file, line.line()));
            }
        }
        symbols.put(METHODS, address);
        parts.add(names.array());
        address += names.capacity();
        symbols.put(LINES, address);
        parts.add(Arrays.copyOf(table.array(), table.position()));
        address += table.position();
        symbols.put(LINES_END, address);
        ByteBuffer all = ByteBuffer.allocate((int) (address - base));
        parts.forEach(all::put);
        return all.array();
    }

    private static void line(ByteBuffer table, long address, int line, int method) {
        table.putInt((int) address).putShort((short) Math.min(line, 0xffff)).putShort((short) method);
    }

    private static byte[] text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        ByteBuffer part = ByteBuffer.allocate((4 + bytes.length + 3) / 4 * 4).order(ByteOrder.LITTLE_ENDIAN);
        return part.putInt(bytes.length).put(bytes).array();
    }

    private record Data(byte[] initialised, long zeroedBase, long end) {}

    private Data placeAreas(long base) {
        List<Program.Area> initialised = new ArrayList<>();
        List<Program.Area> zeroed = new ArrayList<>();
        zeroed.add(new Program.Area(Monitor.TRAP_STACK, Monitor.TRAP_STACK_SIZE, 16, 0));
        for (Program.Area area : program.areas().values()) {
            (area.initialValue() != 0 ? initialised : zeroed).add(area);
        }
        ByteBuffer bytes = ByteBuffer.allocate(16 * initialised.size()).order(ByteOrder.LITTLE_ENDIAN);
        for (Program.Area area : initialised) {
            bytes.position((int) alignUp(bytes.position(), area.sizeBytes()));
            symbols.put(area.symbol(), base + bytes.position());
            for (int i = 0; i < area.sizeBytes(); i++) {
                bytes.put((byte) (area.initialValue() >> 8 * i));
            }
        }
        byte[] content = Arrays.copyOf(bytes.array(), bytes.position());
        long zeroedBase = alignUp(base + content.length, PAGE);
        long address = zeroedBase;
        for (Program.Area area : zeroed) {
            address = alignUp(address, area.alignment());
            symbols.put(area.symbol(), address);
            address += area.sizeBytes();
            if (address > LIMIT) {
                throw BenchtopException.config(
                        "the guest program reserves more than 1 GiB (at \"" + area.symbol() + "\")");
            }
        }
        return new Data(content, zeroedBase, alignUp(address, PAGE));
    }

    private void patch(Placed part) {
        ByteBuffer content = ByteBuffer.wrap(part.content).order(ByteOrder.LITTLE_ENDIAN);
        for (Fixup fixup : part.fixups) {
            long target = address(fixup.symbol()) + fixup.addend();
            switch (fixup.kind()) {
                case ABS32 -> content.putInt(fixup.offset(), (int) target);
                case ABS64 -> content.putLong(fixup.offset(), target);
                case REL32 -> content.putInt(fixup.offset(), (int) (target - (part.base + fixup.offset() + 4)));
            }
        }
    }

    private long address(String symbol) {
        Long address = symbols.get(symbol);
        if (address == null) {
            throw BenchtopException.config("guest code refers to the unknown symbol \"" + symbol + "\"");
        }
        return address;
    }

    private static long alignUp(long value, long alignment) {
        return (value + alignment - 1) / alignment * alignment;
    }
}
