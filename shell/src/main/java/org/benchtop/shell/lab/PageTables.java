package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;

/** Walks page tables of all four kinds in guest memory, changing nothing. */
final class PageTables {
    private static final long CR0_PG = 1L << 31;
    private static final long CR4_PSE = 1 << 4;
    private static final long CR4_PAE = 1 << 5;
    private static final long CR4_LA57 = 1 << 12;
    private static final long EFER_LMA = 1 << 10;
    private static final long EFER_NXE = 1 << 11;

    private static final long PRESENT = 1;
    private static final long WRITE = 1 << 1;
    private static final long USER = 1 << 2;
    private static final long LARGE = 1 << 7;
    private static final long GLOBAL = 1 << 8;
    private static final long NO_EXECUTE = 1L << 63;
    private static final long ADDRESS = 0x000f_ffff_ffff_f000L;

    private static final int MAX_RANGES = 100_000;
    private static final int MAX_TABLES = 1 << 20;

    private static final String[] LEVELS = {"PT", "PD", "PDPT", "PML4", "PML5"};

    private final GuestMemory memory;
    private final SpecialRegisters cpu;
    private final int levels;
    private final int entryBytes;
    private final int indexBits;
    private final String paging;

    PageTables(GuestMemory memory, SpecialRegisters cpu) {
        this.memory = memory;
        this.cpu = cpu;
        if ((cpu.cr0() & CR0_PG) == 0) {
            levels = 0;
            paging = "no";
        } else if ((cpu.efer() & EFER_LMA) != 0) {
            levels = (cpu.cr4() & CR4_LA57) != 0 ? 5 : 4;
            paging = levels + "-level";
        } else if ((cpu.cr4() & CR4_PAE) != 0) {
            levels = 3;
            paging = "PAE";
        } else {
            levels = 2;
            paging = "32-bit";
        }
        boolean narrow = levels == 2;
        entryBytes = narrow ? 4 : 8;
        indexBits = narrow ? 10 : 9;
    }

    String paging() {
        return paging;
    }

    private int shift(int level) {
        return 12 + indexBits * level;
    }

    private int index(long virtual, int level) {
        int bits = levels == 3 && level == 2 ? 2 : indexBits;
        return (int) (virtual >>> shift(level) & (1L << bits) - 1);
    }

    private long root() {
        return levels == 3 ? cpu.cr3() & 0xffff_ffe0L : cpu.cr3() & ADDRESS;
    }

    private long entry(long address) throws GuestFault {
        return entryBytes == 4 ? memory.readInt(address) & 0xffff_ffffL : memory.readLong(address);
    }

    private boolean isLarge(long entry, int level) {
        if (level == 0 || (entry & LARGE) == 0) {
            return false;
        }
        return switch (levels) {
            case 2 -> level == 1 && (cpu.cr4() & CR4_PSE) != 0;
            case 3 -> level == 1;
            default -> level <= 2;
        };
    }

    private long target(long entry, int level) {
        long frame = entry & ADDRESS & -(1L << shift(level));
        // PSE-36: bits 39:32 are in bits 20:13.
        return levels == 2 && level == 1 ? entry & 0xffc0_0000L | (entry >>> 13 & 0xff) << 32 : frame;
    }

    /** Whether an address is one that the CPU would take at all. */
    private boolean canonical(long virtual) {
        if (levels < 4) {
            return virtual >>> 32 == 0;
        }
        int unused = levels == 4 ? 16 : 7;
        return virtual << unused >> unused == virtual;
    }

    OptionalLong translate(long virtual) {
        return walk(virtual).physical();
    }

    PageWalk walk(long virtual) {
        List<PageWalk.Step> steps = new ArrayList<>();
        if (levels == 0) {
            return new PageWalk(virtual, paging, steps, OptionalLong.of(virtual), "-> " + Hex.address(virtual));
        }
        if (!canonical(virtual)) {
            return new PageWalk(virtual, paging, steps, OptionalLong.empty(), "not a canonical address");
        }
        long table = root();
        for (int level = levels - 1; level >= 0; level--) {
            int index = index(virtual, level);
            long at = table + (long) index * entryBytes;
            long entry;
            try {
                entry = entry(at);
            } catch (GuestFault e) {
                return new PageWalk(
                        virtual,
                        paging,
                        steps,
                        OptionalLong.empty(),
                        "the table at " + Hex.address(table) + " is not in RAM");
            }
            boolean leaf = level == 0 || isLarge(entry, level);
            steps.add(new PageWalk.Step(name(level), index, at, entry, flags(entry, leaf)));
            if ((entry & PRESENT) == 0) {
                return new PageWalk(
                        virtual,
                        paging,
                        steps,
                        OptionalLong.empty(),
                        "not mapped: " + name(level) + " entry is not present");
            }
            if (leaf) {
                long offset = virtual & (1L << shift(level)) - 1;
                long physical = target(entry, level) + offset;
                return new PageWalk(
                        virtual,
                        paging,
                        steps,
                        OptionalLong.of(physical),
                        String.format(
                                Locale.ROOT,
                                "-> %s (page of %s)",
                                Hex.address(physical),
                                org.benchtop.engine.config.Units.formatSize(1L << shift(level))));
            }
            table = entry & ADDRESS;
        }
        throw new IllegalStateException("the last level is always a leaf");
    }

    private String name(int level) {
        return LEVELS[level];
    }

    private String flags(long entry, boolean leaf) {
        if ((entry & PRESENT) == 0) {
            return "-";
        }
        StringBuilder text = new StringBuilder("P");
        String[] names = {"", "W", "U", "PWT", "PCD", "A", "D"};
        for (int bit = 1; bit < names.length; bit++) {
            if ((entry >>> bit & 1) != 0 && (leaf || bit != 6)) {
                text.append(' ').append(names[bit]);
            }
        }
        if (leaf && (entry & GLOBAL) != 0) {
            text.append(" G");
        }
        if (entryBytes == 8 && (entry & NO_EXECUTE) != 0) {
            text.append(" NX");
        }
        return text.toString();
    }

    PageMap map() {
        Collector collector = new Collector();
        if (levels > 0) {
            collector.table(root(), levels - 1, 0, true, true, true);
            collector.finish();
        }
        return new PageMap(paging, collector.ranges, collector.complete);
    }

    /** Walks everything; hostile tables may be cyclic, so tables and ranges are bounded. */
    private final class Collector {
        private final List<PageMap.Range> ranges = new ArrayList<>();
        private boolean complete = true;
        private int tables;
        private boolean open;
        private long virtual;
        private long physical;
        private long size;
        private long page;
        private long rights;

        void table(long table, int level, long base, boolean writable, boolean user, boolean executable) {
            if (++tables > MAX_TABLES || ranges.size() >= MAX_RANGES) {
                complete = false;
                return;
            }
            int entries = levels == 3 && level == 2 ? 4 : 1 << indexBits;
            for (int i = 0; i < entries && complete; i++) {
                long entry;
                try {
                    entry = entry(table + (long) i * entryBytes);
                } catch (GuestFault e) {
                    return;
                }
                if ((entry & PRESENT) == 0) {
                    continue;
                }
                long at = base | (long) i << shift(level);
                if (level == levels - 1 && levels >= 4) {
                    int unused = levels == 4 ? 16 : 7;
                    at = at << unused >> unused;
                }
                // The four PDPT entries of PAE paging have no rights.
                boolean plain = levels == 3 && level == 2;
                boolean w = writable && (plain || (entry & WRITE) != 0);
                boolean u = user && (plain || (entry & USER) != 0);
                boolean x =
                        executable && !(entryBytes == 8 && (cpu.efer() & EFER_NXE) != 0 && (entry & NO_EXECUTE) != 0);
                if (level == 0 || isLarge(entry, level)) {
                    leaf(at, target(entry, level), 1L << shift(level), w, u, x, (entry & GLOBAL) != 0);
                } else {
                    table(entry & ADDRESS, level - 1, at, w, u, x);
                }
            }
        }

        private void leaf(long at, long target, long bytes, boolean w, boolean u, boolean x, boolean g) {
            long all = (w ? 1 : 0) | (u ? 2 : 0) | (x ? 4 : 0) | (g ? 8 : 0);
            if (open && at == virtual + size && target == physical + size && bytes == page && all == rights) {
                size += bytes;
                return;
            }
            finish();
            open = true;
            virtual = at;
            physical = target;
            size = bytes;
            page = bytes;
            rights = all;
        }

        void finish() {
            if (open) {
                ranges.add(new PageMap.Range(
                        virtual,
                        physical,
                        size,
                        page,
                        (rights & 1) != 0,
                        (rights & 2) != 0,
                        (rights & 4) != 0,
                        (rights & 8) != 0));
                open = false;
            }
        }
    }
}
