package org.benchtop.guests.compile;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Writes a static ELF64 file: loadable segments, the PVH note, section headers and symbols for tools. */
final class ElfWriter {
    static final int EXECUTABLE = 1;
    static final int WRITABLE = 2;
    static final int READABLE = 4;

    private static final int HEADER_SIZE = 64;
    private static final int PROGRAM_HEADER_SIZE = 56;
    private static final int SECTION_HEADER_SIZE = 64;
    private static final int SYMBOL_SIZE = 24;
    private static final int PAGE = 4096;
    private static final int XEN_ELFNOTE_PHYS32_ENTRY = 18;

    /** A loadable segment; {@code memorySize} beyond the content is zeroed by the loader. */
    record Segment(String name, long address, byte[] content, long memorySize, int flags) {}

    private record Section(
            String name, int type, long flags, long address, long offset, long size, int link, int info, long entry) {}

    private ElfWriter() {}

    static byte[] write(List<Segment> segments, long entry, long pvhEntry, Map<String, Long> symbols) {
        byte[] note = note(pvhEntry);
        int headers = HEADER_SIZE + PROGRAM_HEADER_SIZE * (segments.size() + 1);
        long noteOffset = headers;
        long offset = headers + note.length;
        List<Long> offsets = new ArrayList<>();
        for (Segment segment : segments) {
            if (segment.content.length > 0) {
                offset = (offset + PAGE - 1) / PAGE * PAGE;
            }
            offsets.add(offset);
            offset += segment.content.length;
        }
        List<Section> sections = new ArrayList<>();
        sections.add(new Section("", 0, 0, 0, 0, 0, 0, 0, 0));
        for (int i = 0; i < segments.size(); i++) {
            Segment segment = segments.get(i);
            boolean empty = segment.content.length == 0;
            long flags = 2 | ((segment.flags & WRITABLE) != 0 ? 1 : 0) | ((segment.flags & EXECUTABLE) != 0 ? 4 : 0);
            sections.add(new Section(
                    segment.name,
                    empty ? 8 : 1,
                    flags,
                    segment.address,
                    offsets.get(i),
                    empty ? segment.memorySize : segment.content.length,
                    0,
                    0,
                    0));
        }
        sections.add(new Section(".note.Xen", 7, 0, 0, noteOffset, note.length, 0, 0, 0));
        ByteArrayOutputStream strings = new ByteArrayOutputStream();
        strings.write(0);
        byte[] table = symbolTable(symbols, segments, strings);
        long symbolOffset = (offset + 7) / 8 * 8;
        int stringIndex = sections.size() + 1;
        sections.add(new Section(".symtab", 2, 0, 0, symbolOffset, table.length, stringIndex, 1, SYMBOL_SIZE));
        long stringOffset = symbolOffset + table.length;
        sections.add(new Section(".strtab", 3, 0, 0, stringOffset, strings.size(), 0, 0, 0));
        ByteArrayOutputStream names = new ByteArrayOutputStream();
        List<Integer> nameOffsets = new ArrayList<>();
        sections.forEach(section -> nameOffsets.add(append(names, section.name)));
        int ownName = append(names, ".shstrtab");
        long namesOffset = stringOffset + strings.size();
        sections.add(new Section(".shstrtab", 3, 0, 0, namesOffset, names.size(), 0, 0, 0));
        nameOffsets.add(ownName);
        long sectionOffset = (namesOffset + names.size() + 7) / 8 * 8;

        ByteBuffer out = ByteBuffer.allocate((int) sectionOffset + SECTION_HEADER_SIZE * sections.size())
                .order(ByteOrder.LITTLE_ENDIAN);
        out.put(new byte[] {0x7f, 'E', 'L', 'F', 2, 1, 1, 0}).putLong(0);
        out.putShort((short) 2).putShort((short) 62).putInt(1).putLong(entry);
        out.putLong(HEADER_SIZE).putLong(sectionOffset).putInt(0);
        out.putShort((short) HEADER_SIZE).putShort((short) PROGRAM_HEADER_SIZE);
        out.putShort((short) (segments.size() + 1));
        out.putShort((short) SECTION_HEADER_SIZE).putShort((short) sections.size());
        out.putShort((short) (sections.size() - 1));
        for (int i = 0; i < segments.size(); i++) {
            Segment segment = segments.get(i);
            programHeader(
                    out,
                    1,
                    segment.flags,
                    offsets.get(i),
                    segment.address,
                    segment.content.length,
                    segment.memorySize,
                    PAGE);
        }
        programHeader(out, 4, READABLE, noteOffset, 0, note.length, note.length, 4);
        out.put(note);
        for (int i = 0; i < segments.size(); i++) {
            out.put(offsets.get(i).intValue(), segments.get(i).content);
        }
        out.put((int) symbolOffset, table);
        out.put((int) stringOffset, strings.toByteArray());
        out.put((int) namesOffset, names.toByteArray());
        out.position((int) sectionOffset);
        for (int i = 0; i < sections.size(); i++) {
            Section section = sections.get(i);
            out.putInt(nameOffsets.get(i)).putInt(section.type).putLong(section.flags);
            out.putLong(section.address).putLong(section.offset).putLong(section.size);
            out.putInt(section.link).putInt(section.info).putLong(1).putLong(section.entry);
        }
        return out.array();
    }

    private static byte[] note(long pvhEntry) {
        return ByteBuffer.allocate(24)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(4)
                .putInt(8)
                .putInt(XEN_ELFNOTE_PHYS32_ENTRY)
                .put(new byte[] {'X', 'e', 'n', 0})
                .putLong(pvhEntry)
                .array();
    }

    private static void programHeader(
            ByteBuffer out,
            int type,
            int flags,
            long offset,
            long address,
            long fileSize,
            long memorySize,
            long align) {
        out.putInt(type).putInt(flags).putLong(offset).putLong(address).putLong(address);
        out.putLong(fileSize).putLong(memorySize).putLong(align);
    }

    private static byte[] symbolTable(
            Map<String, Long> symbols, List<Segment> segments, ByteArrayOutputStream strings) {
        ByteBuffer table =
                ByteBuffer.allocate(SYMBOL_SIZE * (symbols.size() + 1)).order(ByteOrder.LITTLE_ENDIAN);
        table.position(SYMBOL_SIZE);
        symbols.entrySet().stream().sorted(Map.Entry.comparingByValue()).forEach(symbol -> {
            long address = symbol.getValue();
            int section = 0xfff1;
            boolean code = false;
            for (int i = 0; i < segments.size(); i++) {
                Segment segment = segments.get(i);
                if (address >= segment.address && address < segment.address + segment.memorySize) {
                    section = i + 1;
                    code = (segment.flags & EXECUTABLE) != 0;
                }
            }
            table.putInt(append(strings, symbol.getKey()));
            table.put((byte) (0x10 | (code ? 2 : 1))).put((byte) 0).putShort((short) section);
            table.putLong(address).putLong(0);
        });
        return table.array();
    }

    private static int append(ByteArrayOutputStream strings, String text) {
        int offset = strings.size();
        strings.writeBytes(text.getBytes(StandardCharsets.UTF_8));
        strings.write(0);
        return offset;
    }
}
