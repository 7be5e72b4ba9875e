package org.benchtop.engine.boot;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.cpu.DescriptorTable;

/**
 * The kernel's {@code boot_params} and its 64-bit entry (Linux Documentation/x86/boot.rst and zero-page.rst).
 *
 * <p>The names are those of the kernel's documentation.
 */
final class ZeroPage {
    static final int SIZE_BYTES = 4096;
    static final int SETUP_HEADER = 0x1f1;
    static final int SETUP_HEADER_MAX_END = 0x290;
    private static final int ACPI_RSDP_ADDR = 0x070;
    private static final int EXT_RAMDISK_IMAGE = 0x0c0;
    private static final int EXT_RAMDISK_SIZE = 0x0c4;
    private static final int E820_ENTRIES = 0x1e8;
    private static final int BOOT_FLAG = 0x1fe;
    private static final int HEADER = 0x202;
    private static final int VERSION = 0x206;
    private static final int TYPE_OF_LOADER = 0x210;
    private static final int RAMDISK_IMAGE = 0x218;
    private static final int RAMDISK_SIZE = 0x21c;
    private static final int CMD_LINE_PTR = 0x228;
    private static final int CMDLINE_SIZE = 0x238;
    private static final int KERNEL_ALIGNMENT = 0x230;
    private static final int E820_TABLE = 0x2d0;
    private static final int E820_ENTRY_BYTES = 20;
    private static final int E820_MAX_ENTRIES = 128;
    private static final short BOOT_FLAG_MAGIC = (short) 0xaa55;
    private static final int HEADER_MAGIC = 0x53726448;
    private static final short PROTOCOL_2_15 = 0x20f;
    private static final int KERNEL_ALIGNMENT_BYTES = 0x1000000;
    private static final byte LOADER_UNDEFINED = (byte) 0xff;

    private ZeroPage() {}

    /** A setup header for a kernel image that has none (vmlinux). */
    static ByteBuffer withoutHeader(int cmdlineMaxBytes) {
        ByteBuffer page = BootRam.buffer(SIZE_BYTES);
        page.putShort(BOOT_FLAG, BOOT_FLAG_MAGIC);
        page.putInt(HEADER, HEADER_MAGIC);
        page.putShort(VERSION, PROTOCOL_2_15);
        page.putInt(KERNEL_ALIGNMENT, KERNEL_ALIGNMENT_BYTES);
        page.putInt(CMDLINE_SIZE, cmdlineMaxBytes);
        return page;
    }

    /** Completes the page, writes it with everything that belongs to it, and gives the state at the 64-bit entry. */
    static BootState enter(
            BootRam ram,
            ByteBuffer page,
            long entry,
            byte[] cmdline,
            Optional<Initrd> initrd,
            long kernelEnd,
            long initrdMax,
            BootFacts facts) {
        page.put(TYPE_OF_LOADER, LOADER_UNDEFINED);
        page.putInt(CMD_LINE_PTR, (int) BootLayout.CMDLINE);
        ram.writeCmdline(cmdline);
        initrd.ifPresent(disk -> {
            long gpa = ram.placeInitrd(disk, kernelEnd, initrdMax);
            page.putInt(RAMDISK_IMAGE, (int) gpa);
            page.putInt(EXT_RAMDISK_IMAGE, (int) (gpa >>> 32));
            page.putInt(RAMDISK_SIZE, disk.data().length);
            page.putInt(EXT_RAMDISK_SIZE, 0);
        });
        List<BootRam.Range> ranges = ram.ranges();
        int count = Math.min(ranges.size(), E820_MAX_ENTRIES);
        page.put(E820_ENTRIES, (byte) count);
        for (int i = 0; i < count; i++) {
            int at = E820_TABLE + i * E820_ENTRY_BYTES;
            page.putLong(at, ranges.get(i).gpa());
            page.putLong(at + 8, ranges.get(i).sizeBytes());
            page.putInt(at + 16, ranges.get(i).type());
        }
        page.putLong(ACPI_RSDP_ADDR, facts.rsdpGpa().orElse(0));
        ram.write(BootLayout.ZERO_PAGE, page.array());
        DescriptorTable gdt = ram.writeGdt(true);
        return new BootState(
                CpuStates.registers(entry, 0, 0, BootLayout.ZERO_PAGE), CpuStates.longMode(gdt, ram.writePageTables()));
    }
}
