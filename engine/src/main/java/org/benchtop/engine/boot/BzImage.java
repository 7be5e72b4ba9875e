package org.benchtop.engine.boot;

import java.nio.ByteBuffer;
import java.util.Optional;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.memory.GuestMemory;

/**
 * A compressed Linux kernel, entered by its 64-bit entry (Linux Documentation/x86/boot.rst).
 *
 * @param name for messages
 * @param version what the kernel calls itself
 * @param setupHeader the part of the zero page that comes from the file
 * @param code the protected-mode part
 * @param workStart where the kernel unpacks itself
 * @param workBytes how much memory that takes
 * @param initrdMax the highest address of an initial RAM disk
 * @param cmdline its command line
 * @param initrd its initial RAM disk
 */
record BzImage(
        String name,
        String version,
        byte[] setupHeader,
        byte[] code,
        long workStart,
        long workBytes,
        long initrdMax,
        byte[] cmdline,
        Optional<Initrd> initrd)
        implements BootImage {
    private static final int HEADER = 0x202;
    private static final long HEADER_MAGIC = 0x53726448;
    private static final int BOOT_FLAG_MAGIC = 0xaa55;
    private static final int SECTOR = 512;
    private static final int DEFAULT_SETUP_SECTORS = 4;
    private static final int OLDEST_VERSION = 0x20c;
    private static final int XLF_KERNEL_64 = 1;
    private static final long LOAD_GPA = 0x100000;
    private static final int PARAGRAPH = 16;
    private static final long ENTRY_64_OFFSET = 0x200;
    private static final int VERSION_TEXT_BYTES = 40;

    static boolean isBzImage(ImageBytes image) {
        return image.length() > HEADER + 4 && image.u32("header", HEADER) == HEADER_MAGIC;
    }

    static BzImage parse(ImageBytes image, String cmdline, Optional<Initrd> initrd, BootSpec.Protocol protocol) {
        if (protocol == BootSpec.Protocol.PVH || protocol == BootSpec.Protocol.MULTIBOOT) {
            throw image.error("a bzImage is entered by the 64-bit protocol only (protocol: auto)");
        }
        if (image.u16("boot_flag", 0x1fe) != BOOT_FLAG_MAGIC) {
            throw image.error("bzImage without boot flag 0xaa55");
        }
        int version = image.u16("version", 0x206);
        if (version < OLDEST_VERSION) {
            throw image.error(String.format(
                    "boot protocol %d.%02d is too old, expected 2.12 or newer", version >> 8, version & 0xff));
        }
        if ((image.u16("xloadflags", 0x236) & XLF_KERNEL_64) == 0) {
            throw image.error("has no 64-bit entry (a 32-bit kernel?)");
        }
        int setupSectors = image.u8("setup_sects", 0x1f1);
        int setupBytes = ((setupSectors == 0 ? DEFAULT_SETUP_SECTORS : setupSectors) + 1) * SECTOR;
        long codeBytes = image.u32("syssize", 0x1f4) * PARAGRAPH;
        if (codeBytes <= ENTRY_64_OFFSET) {
            throw image.error("syssize of " + codeBytes + " bytes leaves no room for the 64-bit entry");
        }
        // The size counts whole paragraphs; not every builder fills up the last one.
        long missing = setupBytes + codeBytes - image.length();
        byte[] code = image.slice(
                "the kernel's code", setupBytes, missing > 0 && missing < PARAGRAPH ? codeBytes - missing : codeBytes);
        int headerEnd = Math.min(HEADER + image.u8("setup header length", 0x201), ZeroPage.SETUP_HEADER_MAX_END);
        byte[] header = image.slice("setup header", ZeroPage.SETUP_HEADER, headerEnd - ZeroPage.SETUP_HEADER);
        long preferred = image.u64("pref_address", 0x258);
        long initBytes = image.u32("init_size", 0x260);
        if (preferred < 0 || preferred > 0xffff_ffffL) {
            throw image.error("pref_address " + ImageErrors.hex(preferred) + " is not below 4 GiB");
        }
        byte[] words = BootRam.cmdline(
                image.name(), cmdline, Math.min(image.u32("cmdline_size", 0x238), BootLayout.CMDLINE_MAX_BYTES));
        return new BzImage(
                image.name(),
                image.text(0x200L + image.u16("kernel_version", 0x20e), VERSION_TEXT_BYTES),
                header,
                code,
                Math.max(preferred, LOAD_GPA),
                Math.max(initBytes, codeBytes),
                image.u32("initrd_addr_max", 0x22c),
                words,
                initrd);
    }

    @Override
    public String description() {
        return name + (version.isEmpty() ? "" : " (Linux " + version.split(" ", 2)[0] + ")") + ", 64-bit Linux entry";
    }

    @Override
    public BootState apply(GuestMemory memory, BootFacts facts) {
        BootRam ram = new BootRam(name, memory);
        long end = Math.max(workStart + workBytes, LOAD_GPA + code.length);
        if (ram.lowEnd() < end) {
            throw ImageErrors.error(
                    name,
                    "needs " + Units.formatSize(end + (1 << 20) - 1 & -(1 << 20))
                            + " of RAM to unpack, the machine has " + Units.formatSize(memory.sizeBytes()));
        }
        ram.write(LOAD_GPA, code);
        ByteBuffer page = BootRam.buffer(ZeroPage.SIZE_BYTES);
        page.put(ZeroPage.SETUP_HEADER, setupHeader);
        return ZeroPage.enter(ram, page, LOAD_GPA + ENTRY_64_OFFSET, cmdline, initrd, end, initrdMax, facts);
    }
}
