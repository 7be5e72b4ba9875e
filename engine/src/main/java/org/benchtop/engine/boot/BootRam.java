package org.benchtop.engine.boot;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryRegion;

/** Guest RAM as a boot loader writes it; what misses RAM is an error of the image. */
final class BootRam {
    private static final int PAGE = 4096;
    private static final long PRESENT_WRITABLE = 3;
    private static final long LARGE_PAGE = 1 << 7;
    private static final int LARGE_PAGE_SHIFT = 21;
    private static final int ENTRIES = 512;
    private static final int IDENTITY_DIRECTORIES = 4;
    private static final long FLAT_CODE_32 = 0x00cf9b000000ffffL;
    private static final long FLAT_CODE_64 = 0x00af9b000000ffffL;
    private static final long FLAT_DATA = 0x00cf93000000ffffL;
    private static final long BUSY_TSS = 0x00008b0000000067L;

    /** What the BIOS calls e820 types, which the PVH and Multiboot tables use as well. */
    static final int RAM = 1;

    static final int RESERVED = 2;

    /**
     * A range of the physical address map.
     *
     * @param type {@link #RAM} or {@link #RESERVED}
     */
    record Range(long gpa, long sizeBytes, int type) {}

    private final String name;
    private final GuestMemory memory;

    BootRam(String name, GuestMemory memory) {
        this.name = name;
        this.memory = memory;
    }

    /** Where RAM below 4 GiB ends. */
    long lowEnd() {
        return memory.regions().stream()
                .filter(region -> region.gpa() == 0)
                .mapToLong(MemoryRegion::endGpa)
                .findFirst()
                .orElse(0);
    }

    private BenchtopException outside(long gpa, long lengthBytes) {
        return ImageErrors.error(
                name,
                ImageErrors.hex(gpa) + "..+" + ImageErrors.hex(lengthBytes) + " is outside the machine's RAM of "
                        + Units.formatSize(memory.sizeBytes()));
    }

    void require(long gpa, long lengthBytes) {
        if (!memory.isRam(gpa, lengthBytes)) {
            throw outside(gpa, lengthBytes);
        }
    }

    void write(long gpa, byte[] bytes) {
        try {
            memory.write(gpa, bytes, 0, bytes.length);
        } catch (GuestFault e) {
            throw outside(gpa, bytes.length);
        }
    }

    void write(ImageSegment segment) {
        try {
            MemorySegment target = memory.slice(segment.gpa(), segment.memoryBytes());
            MemorySegment.copy(MemorySegment.ofArray(segment.data()), 0, target, 0, segment.data().length);
            target.asSlice(segment.data().length).fill((byte) 0);
            memory.written(segment.gpa(), segment.memoryBytes());
        } catch (GuestFault e) {
            throw outside(segment.gpa(), segment.memoryBytes());
        }
    }

    /** Writes the command line with its NUL. */
    void writeCmdline(byte[] cmdline) {
        write(BootLayout.CMDLINE, Arrays.copyOf(cmdline, cmdline.length + 1));
    }

    /** The bytes of a command line, refused if longer than a kernel takes (without the NUL). */
    static byte[] cmdline(String name, String text, long maxBytes) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > maxBytes) {
            throw ImageErrors.error(
                    name, "the command line has " + bytes.length + " bytes, this kernel takes at most " + maxBytes);
        }
        if (text.indexOf('\0') >= 0) {
            throw ImageErrors.error(name, "the command line contains a NUL character");
        }
        return bytes;
    }

    /** Copies an initial RAM disk as high as allowed, page-aligned, and returns where it is. */
    long placeInitrd(Initrd initrd, long lowestGpa, long highestGpa) {
        long end = Math.min(lowEnd(), highestGpa + 1);
        long floor = Math.max(lowestGpa, BootLayout.HIGH_RAM_START);
        long gpa = end - initrd.data().length & -PAGE;
        if (gpa < floor) {
            throw ImageErrors.error(
                    initrd.name(),
                    initrd.data().length + " bytes do not fit into the " + Math.max(0, end - floor)
                            + " bytes of RAM between the kernel and " + ImageErrors.hex(end));
        }
        write(gpa, initrd.data());
        return gpa;
    }

    /** The physical address map that the guest is told. */
    List<Range> ranges() {
        List<Range> ranges = new ArrayList<>();
        for (MemoryRegion region : memory.regions()) {
            if (region.gpa() == 0 && region.sizeBytes() > BootLayout.LOW_RAM_END) {
                ranges.add(new Range(0, BootLayout.LOW_RAM_END, RAM));
                ranges.add(new Range(
                        BootLayout.LOW_RAM_END, BootLayout.HIGH_RAM_START - BootLayout.LOW_RAM_END, RESERVED));
                if (region.sizeBytes() > BootLayout.HIGH_RAM_START) {
                    ranges.add(
                            new Range(BootLayout.HIGH_RAM_START, region.sizeBytes() - BootLayout.HIGH_RAM_START, RAM));
                }
            } else {
                ranges.add(new Range(region.gpa(), region.sizeBytes(), RAM));
            }
        }
        return ranges;
    }

    static ByteBuffer buffer(int sizeBytes) {
        return ByteBuffer.allocate(sizeBytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Writes a GDT with the selectors of {@link CpuStates}, and returns its table register. */
    DescriptorTable writeGdt(boolean longMode) {
        ByteBuffer gdt = buffer(CpuStates.BOOT_TSS + 2 * Long.BYTES);
        gdt.putLong(CpuStates.BOOT_CS, longMode ? FLAT_CODE_64 : FLAT_CODE_32);
        gdt.putLong(CpuStates.BOOT_DS, FLAT_DATA);
        gdt.putLong(CpuStates.BOOT_TSS, BUSY_TSS);
        write(BootLayout.GDT, gdt.array());
        return new DescriptorTable(BootLayout.GDT, gdt.capacity() - 1);
    }

    /** Writes page tables that map the first 4 GiB to themselves with 2 MiB pages, and returns CR3. */
    long writePageTables() {
        ByteBuffer tables = buffer((2 + IDENTITY_DIRECTORIES) * PAGE);
        long pdpt = BootLayout.PAGE_TABLES + PAGE;
        tables.putLong(0, pdpt | PRESENT_WRITABLE);
        for (int i = 0; i < IDENTITY_DIRECTORIES; i++) {
            tables.putLong(PAGE + i * Long.BYTES, pdpt + (long) (i + 1) * PAGE | PRESENT_WRITABLE);
        }
        for (int i = 0; i < IDENTITY_DIRECTORIES * ENTRIES; i++) {
            tables.putLong(2 * PAGE + i * Long.BYTES, (long) i << LARGE_PAGE_SHIFT | LARGE_PAGE | PRESENT_WRITABLE);
        }
        write(BootLayout.PAGE_TABLES, tables.array());
        return BootLayout.PAGE_TABLES;
    }
}
