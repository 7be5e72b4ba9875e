package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;

/** Pages that the hypervisor shares with the guest, and where the guest has put them. */
final class SharedPages {
    /** Index of the shared information page; grant frames have their own numbers. */
    static final int SHARED_INFO = -1;

    static final long LOW_MEMORY_END = 0x9_fc00;
    static final long HIGH_MEMORY = 0x10_0000;

    /** Where Xen's domain builder puts pages that stay where they are. */
    static final long SPECIAL = 0xfeff_8000L;

    static final long SPECIAL_END = 0xff00_0000L;
    static final long CONSOLE_FRAME = SPECIAL >>> Xen.PAGE_SHIFT;
    static final long STORE_FRAME = CONSOLE_FRAME + 1;

    private final MemoryMap map;
    private final MemorySegment shared;
    private final MemorySegment console;
    private final MemorySegment store;
    private final MemorySegment grantMemory;
    private final GrantTable grants;
    private final Map<Integer, Place> places = new HashMap<>();

    private record Place(long frame, MemoryMap.Mapping mapping) {}

    SharedPages(MemoryMap map) {
        this.map = map;
        this.shared = map.allocate("xen-shared-info", Xen.PAGE_SIZE);
        this.console = map.allocate("xen-console", Xen.PAGE_SIZE);
        this.store = map.allocate("xenstore", Xen.PAGE_SIZE);
        this.grantMemory = map.allocate("xen-grants", (long) GrantTable.MAX_FRAMES * Xen.PAGE_SIZE);
        this.grants = new GrantTable(grantMemory);
    }

    /** Shows the console and store rings, which stay for the life of the machine. */
    void mapRings() {
        MemoryMap.Mapping first =
                map.map("xen-console", CONSOLE_FRAME << Xen.PAGE_SHIFT, console, MemoryAccess.READ_WRITE);
        MemoryMap.Mapping second = map.map("xenstore", STORE_FRAME << Xen.PAGE_SHIFT, store, MemoryAccess.READ_WRITE);
        rings = new MemoryMap.Mapping[] {first, second};
    }

    private MemoryMap.Mapping[] rings = {};

    MemorySegment shared() {
        return shared;
    }

    MemorySegment console() {
        return console;
    }

    MemorySegment store() {
        return store;
    }

    GrantTable grants() {
        return grants;
    }

    /** Takes everything away that the guest has mapped, and clears the pages. */
    synchronized void reset() {
        unmapAll();
        shared.fill((byte) 0);
        console.fill((byte) 0);
        store.fill((byte) 0);
        grants.reset();
    }

    private void unmapAll() {
        for (Place place : places.values()) {
            place.mapping().close();
        }
        places.clear();
    }

    /** Shows the page at a frame, instead of where it was. */
    synchronized long map(int page, long frame) {
        return mapPage(page, frame, shared);
    }

    /** Shows a page of the grant table. */
    synchronized long mapGrants(int index, long frame) {
        return mapPage(index, frame, grants.frame(index));
    }

    private long mapPage(int page, long frame, MemorySegment memory) {
        if (frame >= CONSOLE_FRAME && frame <= STORE_FRAME) {
            return Xen.EINVAL;
        }
        for (Map.Entry<Integer, Place> entry : Map.copyOf(places).entrySet()) {
            if (entry.getKey() == page || entry.getValue().frame() == frame) {
                entry.getValue().mapping().close();
                places.remove(entry.getKey());
            }
        }
        String name = page == SHARED_INFO ? "xen-shared-info" : "xen-grants-" + page;
        places.put(page, new Place(frame, map.map(name, frame << Xen.PAGE_SHIFT, memory, MemoryAccess.READ_WRITE)));
        return 0;
    }

    /** Takes away what is shown at a frame. */
    synchronized long unmap(long frame) {
        Optional<Integer> page = places.entrySet().stream()
                .filter(entry -> entry.getValue().frame() == frame)
                .map(Map.Entry::getKey)
                .findFirst();
        page.ifPresent(number -> {
            Place place = places.remove(number);
            if (place != null) {
                place.mapping().close();
            }
        });
        // Pages of RAM stay: the guest could not get them back.
        return 0;
    }

    /** Where pages are, for people. */
    synchronized Map<String, String> describe() {
        Map<String, String> all = new java.util.TreeMap<>();
        places.forEach((page, place) -> all.put(
                page == SHARED_INFO ? "shared-info" : "grant-frame-" + page,
                "0x" + Long.toHexString(place.frame() << Xen.PAGE_SHIFT)));
        return all;
    }

    /** Takes away everything. */
    synchronized void close() {
        unmapAll();
        for (MemoryMap.Mapping ring : rings) {
            ring.close();
        }
        rings = new MemoryMap.Mapping[0];
    }
}
