package org.benchtop.engine.boot;

/** Where boot structures lie in low memory. The guest may reuse all of it once it has read them. */
final class BootLayout {
    static final long GDT = 0x1000;
    /** PML4, PDPT and four page directories, one page each. */
    static final long PAGE_TABLES = 0x2000;
    /** The stack lies below; raw code starts with it. */
    static final long STACK_TOP = 0x9000;
    /** PVH start info or Multiboot information, with its module list. */
    static final long INFO = 0x9000;

    static final long MODULES = 0x9800;
    static final long MEMORY_TABLE = 0xa000;
    /** The kernel's boot_params. */
    static final long ZERO_PAGE = 0xb000;

    static final long CMDLINE = 0x20000;
    static final int CMDLINE_MAX_BYTES = 0xffff;

    /** All of the above. */
    static final long START = GDT;

    static final long END = CMDLINE + CMDLINE_MAX_BYTES + 1;
    /** What raw code in protected or long mode needs. */
    static final long FLAT_END = STACK_TOP;

    /** Where usable low memory ends: above are the EBDA, adapter ROMs and the BIOS area. */
    static final long LOW_RAM_END = 0x9fc00;

    static final long HIGH_RAM_START = 0x100000;

    private BootLayout() {}
}
