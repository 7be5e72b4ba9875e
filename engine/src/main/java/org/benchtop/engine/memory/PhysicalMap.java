package org.benchtop.engine.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;
import org.benchtop.spi.memory.MemoryRegion;
import org.jspecify.annotations.Nullable;

/**
 * The guest physical memory map: RAM below, later mappings on top, flattened into the CPU engine's memory slots.
 *
 * <p>Control plane. A change replaces only the slots that differ.
 */
public final class PhysicalMap implements MemoryMap {
    private static final long PAGE = 4096;

    private final CpuVm vm;
    private final Arena arena;
    private final List<Layer> layers = new ArrayList<>();
    private final Map<Flat, Integer> slots = new HashMap<>();
    private final TreeSet<Integer> freeSlots = new TreeSet<>();
    private int nextSlot;

    /** A map over RAM; {@code arena} owns what {@link #allocate} gives. */
    public PhysicalMap(CpuVm vm, Arena arena, List<MemoryRegion> ram) {
        this.vm = vm;
        this.arena = arena;
        for (MemoryRegion region : ram) {
            layers.add(new Layer("ram", region.gpa(), region.segment(), MemoryAccess.READ_WRITE));
        }
        flatten();
    }

    /**
     * A piece of the flattened map.
     *
     * @param sizeBytes the length of {@code memory}; a component because equality of segments ignores it
     */
    public record Flat(long gpa, long sizeBytes, MemorySegment memory, MemoryAccess access) {}

    private final class Layer implements Mapping {
        private final String name;
        private final MemorySegment memory;
        private long gpa;
        private MemoryAccess access;

        private Layer(String name, long gpa, MemorySegment memory, MemoryAccess access) {
            this.name = name;
            this.gpa = gpa;
            this.memory = memory;
            this.access = access;
        }

        @Override
        public void access(MemoryAccess value) {
            synchronized (PhysicalMap.this) {
                if (access != value) {
                    access = value;
                    flatten();
                }
            }
        }

        @Override
        public void move(long newGpa) {
            synchronized (PhysicalMap.this) {
                checkAligned(name, newGpa, memory);
                gpa = newGpa;
                flatten();
            }
        }

        @Override
        public void close() {
            synchronized (PhysicalMap.this) {
                if (layers.remove(this)) {
                    flatten();
                }
            }
        }
    }

    @Override
    public MemorySegment allocate(String name, long sizeBytes) {
        if (sizeBytes <= 0 || sizeBytes % PAGE != 0) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL,
                    "memory block " + name + " of " + sizeBytes + " bytes is not whole 4 KiB pages");
        }
        return arena.allocate(sizeBytes, PAGE);
    }

    @Override
    public synchronized Mapping map(String name, long gpa, MemorySegment memory, MemoryAccess access) {
        checkAligned(name, gpa, memory);
        Layer layer = new Layer(name, gpa, memory, access);
        layers.add(layer);
        flatten();
        return layer;
    }

    private static void checkAligned(String name, long gpa, MemorySegment memory) {
        if ((gpa | memory.address() | memory.byteSize()) % PAGE != 0 || memory.byteSize() == 0) {
            throw BenchtopException.of(
                    ErrorKind.INTERNAL,
                    "mapping " + name + " at 0x" + Long.toHexString(gpa) + " size 0x"
                            + Long.toHexString(memory.byteSize()) + " is not whole 4 KiB pages");
        }
    }

    /** The flattened map by address. */
    public synchronized List<Flat> flat() {
        return slots.keySet().stream()
                .sorted((a, b) -> Long.compareUnsigned(a.gpa, b.gpa))
                .toList();
    }

    /** The slot number of each piece, for dirty logs. */
    public synchronized Map<Flat, Integer> slots() {
        return Map.copyOf(slots);
    }

    private void flatten() {
        List<Flat> wanted = compute();
        List<Flat> gone = new ArrayList<>(slots.keySet());
        gone.removeAll(wanted);
        for (Flat flat : gone) {
            int slot = Objects.requireNonNull(slots.remove(flat), "a slot that was listed");
            vm.unmapMemory(slot);
            freeSlots.add(slot);
        }
        for (Flat flat : wanted) {
            if (!slots.containsKey(flat)) {
                Integer free = freeSlots.pollFirst();
                int slot = free == null ? nextSlot++ : free;
                vm.mapMemory(slot, flat.gpa, flat.memory, flat.access);
                slots.put(flat, slot);
            }
        }
    }

    private List<Flat> compute() {
        TreeSet<Long> edges = new TreeSet<>();
        for (Layer layer : layers) {
            edges.add(layer.gpa);
            edges.add(layer.gpa + layer.memory.byteSize());
        }
        List<Flat> result = new ArrayList<>();
        Layer open = null;
        long openFrom = 0;
        long previous = 0;
        for (long edge : edges) {
            Layer top = topmost(previous, edge);
            if (top != open) {
                close(result, open, openFrom, previous);
                open = top;
                openFrom = previous;
            }
            previous = edge;
        }
        close(result, open, openFrom, previous);
        return result;
    }

    private @Nullable Layer topmost(long from, long to) {
        Layer top = null;
        for (Layer layer : layers) {
            if (from < to
                    && layer.access != MemoryAccess.NONE
                    && layer.gpa <= from
                    && layer.gpa + layer.memory.byteSize() >= to) {
                top = layer;
            }
        }
        return top;
    }

    private static void close(List<Flat> result, @Nullable Layer layer, long from, long to) {
        if (layer != null) {
            result.add(new Flat(from, to - from, layer.memory.asSlice(from - layer.gpa, to - from), layer.access));
        }
    }
}
