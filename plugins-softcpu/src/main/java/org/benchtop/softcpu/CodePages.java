package org.benchtop.softcpu;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Which host pages hold decoded code. Look-ups take no lock and allocate nothing; they see a page as soon as {@link
 * #pageFor} has returned.
 */
final class CodePages {
    private static final int GRANULE_SHIFT = 6;
    private static final int GRANULES = 4096 >> GRANULE_SHIFT;

    /** Decoded code of one page. Guarded by the {@link CodePages} that made it, except where noted. */
    static final class Page {
        final long host;
        /** One bit per 64 bytes that some block was decoded from; read without the lock. */
        volatile long granules;

        /** Changes with every invalidation. */
        private long version;

        /** No TLB lets a processor write the page unseen. */
        private boolean writeProtected;

        private @Nullable Block[] blocks = new Block[8];
        private int count;
        /** Blocks that begin on this page by the granule they begin in, chained by {@link Block#nextInGranule}. */
        private final @Nullable Block[] starts = new Block[GRANULES];

        Page(long host, long version) {
            this.host = host;
            this.version = version;
        }

        private void add(Block block) {
            if (count == blocks.length) {
                blocks = Arrays.copyOf(blocks, count * 2);
            }
            blocks[count++] = block;
        }

        private void addStart(Block block) {
            int granule = granule(block.host);
            block.nextInGranule = starts[granule];
            starts[granule] = block;
        }

        private void findStarts() {
            Arrays.fill(starts, null);
            for (int i = 0; i < count; i++) {
                Block block = Objects.requireNonNull(blocks[i]);
                if ((block.host & Cpu.PAGE_MASK) == host) {
                    addStart(block);
                }
            }
        }
    }

    private static int granule(long host) {
        return (int) (host & 4095) >> GRANULE_SHIFT;
    }

    private final DebugHooks hooks;

    CodePages(DebugHooks hooks) {
        this.hooks = hooks;
    }

    private record Table(long[] keys, @Nullable Page[] pages) {}

    private volatile Table table = new Table(new long[1024], new Page[1024]);
    private int used;
    /** The last {@link Page#version} that was given to a page. */
    private long versions;

    private static int slot(long host, int length) {
        long h = (host >>> 12) * 0x9e37_79b9_7f4a_7c15L;
        return (int) (h >>> 40) & length - 1;
    }

    /** The page at a host address, or null if no code was decoded from it. */
    @Nullable
    Page at(long host) {
        Table t = table;
        long key = host & Cpu.PAGE_MASK;
        int i = slot(key, t.keys.length);
        while (true) {
            Page page = t.pages[i];
            if (page == null) {
                return null;
            }
            if (page.host == key) {
                return page;
            }
            i = i + 1 & t.keys.length - 1;
        }
    }

    synchronized Page pageFor(long host) {
        Page existing = at(host);
        if (existing != null) {
            return existing;
        }
        if (used * 2 > table.keys.length) {
            grow();
        }
        Page page = new Page(host & Cpu.PAGE_MASK, ++versions);
        insert(table, page);
        used++;
        // Publishes the element to readers of the volatile field.
        table = new Table(table.keys, table.pages);
        return page;
    }

    private static void insert(Table t, Page page) {
        int i = slot(page.host, t.keys.length);
        while (t.pages[i] != null) {
            i = i + 1 & t.keys.length - 1;
        }
        t.keys[i] = page.host;
        t.pages[i] = page;
    }

    private void grow() {
        Table old = table;
        Table bigger = new Table(new long[old.keys.length * 2], new Page[old.keys.length * 2]);
        for (Page page : old.pages) {
            if (page != null) {
                insert(bigger, page);
            }
        }
        table = bigger;
    }

    /** Whether decoded code overlaps a range inside one page. Any thread. */
    boolean overlaps(long host, int length) {
        Page page = at(host);
        return page != null && (page.granules & bits(host, length)) != 0;
    }

    static long bits(long host, int length) {
        int first = granule(host);
        int last = granule(host + length - 1);
        return -1L >>> 63 - (last - first) << first;
    }

    synchronized @Nullable Block find(long host, long rip, int mode) {
        Page page = at(host);
        if (page == null) {
            return null;
        }
        Block block = page.starts[granule(host)];
        while (block != null && (block.host != host || block.rip != rip || block.mode != mode)) {
            block = block.nextInGranule;
        }
        return block;
    }

    /** A block that another one leads to, by its address, on the other's page or where code of that page has been found. */
    synchronized @Nullable Block at(long rip, Block from, int mode) {
        if (((rip ^ from.rip) & Cpu.PAGE_MASK) == 0) {
            return find((from.host & Cpu.PAGE_MASK) | rip & 4095, rip, mode);
        }
        return from.term.successor(rip);
    }

    /** For {@link #add}: changes whenever code of the page is dropped. */
    synchronized long version(long host) {
        return pageFor(host).version;
    }

    /**
     * Marks where a block is decoded from, so that device writes from now on are seen; processors see them once their TLBs no
     * longer let them write.
     *
     * @return whether the page has to be protected from writes, see {@link #isProtected}
     */
    synchronized boolean claim(long host, int length) {
        Page page = pageFor(host);
        page.granules |= bits(host, length);
        return !page.writeProtected;
    }

    /** Every processor's writes to the page are seen from now on, until the last code of the page is dropped. */
    synchronized void isProtected(long host) {
        Page page = pageFor(host);
        page.writeProtected = page.granules != 0;
    }

    /** Adds a block unless its page was written since the version was taken. */
    synchronized boolean add(Block block, long version) {
        Page page = pageFor(block.host);
        if (page.version != version) {
            return false;
        }
        page.add(block);
        page.addStart(block);
        if (block.secondHost != 0) {
            pageFor(block.secondHost).add(block);
        }
        return true;
    }

    /** Drops the code that overlaps a range inside one page, which was written. Any thread. */
    synchronized void invalidate(long host, int length) {
        Page page = at(host);
        if (page == null) {
            return;
        }
        long written = bits(host, length);
        long left = 0;
        int kept = 0;
        for (int i = 0; i < page.count; i++) {
            Block block = Objects.requireNonNull(page.blocks[i]);
            long covered = block.covers(page.host);
            if ((covered & written) == 0) {
                page.blocks[kept++] = block;
                left |= covered;
                continue;
            }
            if (block.valid) {
                hooks.count(block);
                block.invalidate();
                for (long other : block.pages()) {
                    if (other != page.host) {
                        remove(other, block);
                    }
                }
            }
        }
        Arrays.fill(page.blocks, kept, page.count, null);
        page.count = kept;
        page.findStarts();
        page.granules = left;
        page.writeProtected &= left != 0;
        page.version = ++versions;
    }

    private void remove(long host, Block block) {
        Page page = at(host);
        if (page == null) {
            return;
        }
        int kept = 0;
        for (int i = 0; i < page.count; i++) {
            if (page.blocks[i] != block) {
                page.blocks[kept++] = page.blocks[i];
            }
        }
        page.count = kept;
        page.findStarts();
    }

    /** Installs a translation unless the code has changed meanwhile. */
    synchronized void install(Block entry, Translator.Translation translation) {
        Map<Long, Long> granules = new TreeMap<>();
        for (Block part : translation.parts()) {
            if (!part.valid) {
                return;
            }
            long page = part.host & Cpu.PAGE_MASK;
            granules.merge(page, part.covers(page), (a, b) -> a | b);
        }
        if (!entry.valid || entry.region != null) {
            return;
        }
        entry.translated(
                translation.region(),
                granules.keySet().stream().mapToLong(Long::longValue).toArray(),
                granules.values().stream().mapToLong(Long::longValue).toArray());
        for (long host : granules.keySet()) {
            if (host != (entry.host & Cpu.PAGE_MASK)) {
                pageFor(host).add(entry);
            }
        }
    }

    /** Drops everything. */
    synchronized void clear() {
        for (Page page : table.pages) {
            if (page != null) {
                invalidate(page.host, 4096);
            }
        }
        table = new Table(new long[1024], new Page[1024]);
        used = 0;
    }
}
