package org.benchtop.engine.boot;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.benchtop.spi.cpu.DescriptorTable;

/** Multiboot 1 headers and entry (Multiboot Specification 0.6.96). */
final class Multiboot {
    private static final long HEADER_MAGIC = 0x1badb002L;
    private static final int LOADER_MAGIC = 0x2badb002;
    private static final int SEARCH_BYTES = 8192;
    private static final int HEADER_BYTES = 12;
    private static final long ADDRESSES_VALID = 1 << 16;
    /** Page-aligned modules, memory information and video mode; the last is not given. */
    private static final long KNOWN_REQUIREMENTS = 3;

    private static final long ALL_REQUIREMENTS = 0xffff;
    private static final int INFO_MEMORY = 1;
    private static final int INFO_CMDLINE = 1 << 2;
    private static final int INFO_MODULES = 1 << 3;
    private static final int INFO_MEMORY_MAP = 1 << 6;
    private static final int INFO_BYTES = 116;
    private static final int MODULE_BYTES = 16;
    private static final int MEMORY_ENTRY_BYTES = 24;

    private Multiboot() {}

    /** Where the header is. */
    static OptionalInt find(ImageBytes image) {
        int end = Math.min(SEARCH_BYTES, image.length()) - HEADER_BYTES;
        for (int at = 0; at <= end; at += 4) {
            if (image.u32("header", at) == HEADER_MAGIC) {
                long sum = HEADER_MAGIC + image.u32("flags", at + 4) + image.u32("checksum", at + 8);
                if ((sum & 0xffff_ffffL) == 0) {
                    return OptionalInt.of(at);
                }
            }
        }
        return OptionalInt.empty();
    }

    /** Refuses headers that ask for what is not given. */
    static void checkRequirements(ImageBytes image, int header) {
        long flags = image.u32("multiboot flags", header + 4);
        if ((flags & ALL_REQUIREMENTS & ~KNOWN_REQUIREMENTS) != 0) {
            throw image.error("the Multiboot header requires features "
                    + ImageErrors.hex(flags & ALL_REQUIREMENTS & ~KNOWN_REQUIREMENTS) + " that are not supported");
        }
    }

    /** Whether the header says by itself what to load where. */
    static boolean hasAddresses(ImageBytes image, int header) {
        return (image.u32("multiboot flags", header + 4) & ADDRESSES_VALID) != 0;
    }

    /** The one segment of an image whose header has addresses. */
    static ImageSegment segment(ImageBytes image, int header) {
        long headerAddress = image.u32("multiboot header_addr", header + 12);
        long load = image.u32("multiboot load_addr", header + 16);
        long loadEnd = image.u32("multiboot load_end_addr", header + 20);
        long bssEnd = image.u32("multiboot bss_end_addr", header + 24);
        long offset = header - (headerAddress - load);
        if (load > headerAddress || offset < 0) {
            throw image.error("the Multiboot load_addr " + ImageErrors.hex(load) + " and header_addr "
                    + ImageErrors.hex(headerAddress) + " do not fit the file");
        }
        long dataBytes = loadEnd == 0 ? image.length() - offset : loadEnd - load;
        byte[] data = image.slice("multiboot data", offset, dataBytes);
        return new ImageSegment(load, data, Math.max(dataBytes, bssEnd - load));
    }

    /** The entry of an image whose header has addresses. */
    static long entry(ImageBytes image, int header) {
        return image.u32("multiboot entry_addr", header + 28);
    }

    /** Writes everything that the guest finds through EBX, and gives the state at the 32-bit entry. */
    static BootState enter(BootRam ram, long entry, byte[] cmdline, Optional<Initrd> initrd, long kernelEnd) {
        ram.writeCmdline(cmdline);
        ByteBuffer info = BootRam.buffer(INFO_BYTES);
        int flags = INFO_MEMORY | INFO_CMDLINE | INFO_MEMORY_MAP;
        info.putInt(4, (int) (BootLayout.LOW_RAM_END >> 10));
        info.putInt(8, (int) (Math.max(0, ram.lowEnd() - BootLayout.HIGH_RAM_START) >> 10));
        info.putInt(16, (int) BootLayout.CMDLINE);
        if (initrd.isPresent()) {
            flags |= INFO_MODULES;
            long gpa = ram.placeInitrd(initrd.get(), kernelEnd, ram.lowEnd() - 1);
            ByteBuffer module = BootRam.buffer(MODULE_BYTES);
            module.putInt(0, (int) gpa);
            module.putInt(4, (int) (gpa + initrd.get().data().length));
            ram.write(BootLayout.MODULES, module.array());
            info.putInt(20, 1);
            info.putInt(24, (int) BootLayout.MODULES);
        }
        List<BootRam.Range> ranges = ram.ranges();
        ByteBuffer map = BootRam.buffer(ranges.size() * MEMORY_ENTRY_BYTES);
        for (BootRam.Range range : ranges) {
            map.putInt(MEMORY_ENTRY_BYTES - Integer.BYTES);
            map.putLong(range.gpa()).putLong(range.sizeBytes()).putInt(range.type());
        }
        ram.write(BootLayout.MEMORY_TABLE, map.array());
        info.putInt(44, map.capacity());
        info.putInt(48, (int) BootLayout.MEMORY_TABLE);
        info.putInt(0, flags);
        ram.write(BootLayout.INFO, info.array());
        DescriptorTable gdt = ram.writeGdt(false);
        return new BootState(
                CpuStates.registers(entry, Integer.toUnsignedLong(LOADER_MAGIC), BootLayout.INFO, 0),
                CpuStates.protectedMode(gdt));
    }
}
