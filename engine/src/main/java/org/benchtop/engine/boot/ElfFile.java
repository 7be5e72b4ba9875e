package org.benchtop.engine.boot;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * An ELF executable for x86 (System V ABI, ELF-64 object file format), checked.
 *
 * @param wide whether it is ELF64
 * @param entry its entry as a physical address
 * @param pvhEntry the PVH entry from a Xen note of type 18
 * @param segments what to load, sorted, without overlaps
 */
record ElfFile(boolean wide, long entry, OptionalLong pvhEntry, List<ImageSegment> segments) {
    private static final int CLASS_32 = 1;
    private static final int CLASS_64 = 2;
    private static final int LITTLE_ENDIAN = 1;
    private static final int TYPE_EXECUTABLE = 2;
    private static final int TYPE_SHARED = 3;
    private static final int MACHINE_I386 = 3;
    private static final int MACHINE_X86_64 = 62;
    private static final int PT_LOAD = 1;
    private static final int PT_NOTE = 4;
    private static final int XEN_ELFNOTE_PHYS32_ENTRY = 18;
    private static final int NOTE_HEADER_BYTES = 12;

    static boolean isElf(ImageBytes image) {
        return image.startsWith(0x7f, 'E', 'L', 'F');
    }

    static ElfFile parse(ImageBytes image) {
        int elfClass = image.u8("ELF class", 4);
        if (elfClass != CLASS_32 && elfClass != CLASS_64) {
            throw image.error("unknown ELF class " + elfClass);
        }
        boolean wide = elfClass == CLASS_64;
        if (image.u8("ELF byte order", 5) != LITTLE_ENDIAN) {
            throw image.error("big-endian ELF, expected x86-64");
        }
        int machine = image.u16("ELF machine", 18);
        if (machine != (wide ? MACHINE_X86_64 : MACHINE_I386)) {
            throw image.error("ELF for " + machineName(machine) + ", expected x86-64");
        }
        int type = image.u16("ELF type", 16);
        if (type != TYPE_EXECUTABLE && type != TYPE_SHARED) {
            throw image.error("ELF type " + type + " is not an executable");
        }
        long entry = wide ? image.u64("ELF entry", 24) : image.u32("ELF entry", 24);
        long table = wide ? image.u64("ELF program header offset", 32) : image.u32("ELF program header offset", 28);
        int entrySize = image.u16("ELF program header size", wide ? 54 : 42);
        int count = image.u16("ELF program header count", wide ? 56 : 44);
        if (count > 0 && entrySize != (wide ? 56 : 32)) {
            throw image.error("ELF program headers of " + entrySize + " bytes, expected " + (wide ? 56 : 32));
        }
        List<ImageSegment> segments = new ArrayList<>();
        long dataBytes = 0;
        OptionalLong pvhEntry = OptionalLong.empty();
        OptionalLong physicalEntry = OptionalLong.empty();
        for (int i = 0; i < count; i++) {
            ProgramHeader header = ProgramHeader.read(image, table + (long) i * entrySize, wide);
            if (header.type == PT_LOAD && header.memoryBytes != 0) {
                if (Long.compareUnsigned(header.fileBytes, header.memoryBytes) > 0) {
                    throw image.error("segment " + i + " has " + header.fileBytes + " bytes in the file but "
                            + header.memoryBytes + " in memory");
                }
                byte[] data = image.slice("segment " + i, header.offset, header.fileBytes);
                dataBytes += data.length;
                if (dataBytes > 2L * image.length()) {
                    throw image.error("its segments use the same bytes of the file again and again");
                }
                segments.add(new ImageSegment(header.physical, data, header.memoryBytes));
                long inside = entry - header.virtual;
                if (inside >= 0 && inside < header.memoryBytes && physicalEntry.isEmpty()) {
                    physicalEntry = OptionalLong.of(header.physical + inside);
                }
            } else if (header.type == PT_NOTE && pvhEntry.isEmpty()) {
                pvhEntry = pvhEntry(image, header);
            }
        }
        if (segments.isEmpty()) {
            throw image.error("ELF without a loadable segment");
        }
        List<ImageSegment> checked = ImageSegment.checked(image.name(), segments, BootLayout.END);
        boolean entryIsPhysical = checked.stream().anyMatch(segment -> segment.contains(entry));
        return new ElfFile(wide, entryIsPhysical ? entry : physicalEntry.orElse(entry), pvhEntry, checked);
    }

    private record ProgramHeader(
            long type, long offset, long virtual, long physical, long fileBytes, long memoryBytes, long alignment) {
        static ProgramHeader read(ImageBytes image, long at, boolean wide) {
            String field = "ELF program header";
            if (wide) {
                return new ProgramHeader(
                        image.u32(field, at),
                        image.u64(field, at + 8),
                        image.u64(field, at + 16),
                        image.u64(field, at + 24),
                        image.u64(field, at + 32),
                        image.u64(field, at + 40),
                        image.u64(field, at + 48));
            }
            return new ProgramHeader(
                    image.u32(field, at),
                    image.u32(field, at + 4),
                    image.u32(field, at + 8),
                    image.u32(field, at + 12),
                    image.u32(field, at + 16),
                    image.u32(field, at + 20),
                    image.u32(field, at + 28));
        }
    }

    private static OptionalLong pvhEntry(ImageBytes image, ProgramHeader header) {
        long alignment = header.alignment == 8 ? 8 : 4;
        long at = header.offset;
        long end = header.offset + header.fileBytes;
        while (end - at >= NOTE_HEADER_BYTES) {
            long nameBytes = image.u32("note", at);
            long contentBytes = image.u32("note", at + 4);
            long type = image.u32("note", at + 8);
            long content = align(at + NOTE_HEADER_BYTES + nameBytes, alignment);
            if (type == XEN_ELFNOTE_PHYS32_ENTRY
                    && nameBytes == 4
                    && image.text(at + NOTE_HEADER_BYTES, 4).equals("Xen")) {
                if (contentBytes != 4 && contentBytes != 8) {
                    throw image.error("the PVH note has " + contentBytes + " bytes, expected 4 or 8");
                }
                long entry = contentBytes == 8 ? image.u64("PVH note", content) : image.u32("PVH note", content);
                if (entry < 0 || entry > 0xffff_ffffL) {
                    throw image.error("the PVH entry " + ImageErrors.hex(entry) + " is not below 4 GiB");
                }
                return OptionalLong.of(entry);
            }
            at = align(content + contentBytes, alignment);
        }
        return OptionalLong.empty();
    }

    private static long align(long value, long alignment) {
        return value + alignment - 1 & -alignment;
    }

    private static String machineName(int machine) {
        return switch (machine) {
            case MACHINE_I386 -> "i386 in a 64-bit file";
            case MACHINE_X86_64 -> "x86-64 in a 32-bit file";
            case 40 -> "ARM";
            case 183 -> "AArch64";
            case 243 -> "RISC-V";
            case 20, 21 -> "PowerPC";
            case 22 -> "S/390";
            case 258 -> "LoongArch";
            default -> "machine " + machine;
        };
    }
}
