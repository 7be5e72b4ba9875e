package org.benchtop.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;

/** Remembers mappings; a later one covers earlier ones, as {@link #at} shows. */
public final class FakeMemoryMap implements MemoryMap {
    private static final int PAGE = 4096;

    private final List<FakeMapping> mappings = new ArrayList<>();

    @Override
    public MemorySegment allocate(String name, long sizeBytes) {
        long rounded = (sizeBytes + PAGE - 1) / PAGE * PAGE;
        return Arena.ofAuto().allocate(rounded, PAGE).asSlice(0, sizeBytes);
    }

    @Override
    public synchronized Mapping map(String name, long gpa, MemorySegment memory, MemoryAccess access) {
        if (gpa % PAGE != 0 || memory.address() % PAGE != 0 || memory.byteSize() % PAGE != 0) {
            throw new AssertionError("mapping " + name + " is not page-aligned: gpa=0x" + Long.toHexString(gpa)
                    + " address=0x" + Long.toHexString(memory.address()) + " size=" + memory.byteSize());
        }
        FakeMapping mapping = new FakeMapping(name, gpa, memory, access);
        mappings.add(mapping);
        return mapping;
    }

    /** All mappings that are not closed, in the order they were made. */
    public synchronized List<FakeMapping> mappings() {
        return List.copyOf(mappings);
    }

    /** The topmost visible mapping that covers an address. */
    public synchronized Optional<FakeMapping> at(long gpa) {
        // By index: an iterator would show up in the allocation tests of the devices that are reached through here.
        for (int i = mappings.size() - 1; i >= 0; i--) {
            FakeMapping mapping = mappings.get(i);
            long offset = gpa - mapping.gpa;
            if (mapping.access != MemoryAccess.NONE && offset >= 0 && offset < mapping.memory.byteSize()) {
                return Optional.of(mapping);
            }
        }
        return Optional.empty();
    }

    /** One mapping. */
    public final class FakeMapping implements Mapping {
        private final String name;
        private final MemorySegment memory;
        private long gpa;
        private MemoryAccess access;

        FakeMapping(String name, long gpa, MemorySegment memory, MemoryAccess access) {
            this.name = name;
            this.gpa = gpa;
            this.memory = memory;
            this.access = access;
        }

        /** The name it was mapped with. */
        public String name() {
            return name;
        }

        /** Where it is now. */
        public long gpa() {
            return gpa;
        }

        /** The memory. */
        public MemorySegment memory() {
            return memory;
        }

        /** What vCPUs may do now. */
        public MemoryAccess access() {
            return access;
        }

        @Override
        public void access(MemoryAccess newAccess) {
            synchronized (FakeMemoryMap.this) {
                access = newAccess;
            }
        }

        @Override
        public void move(long newGpa) {
            synchronized (FakeMemoryMap.this) {
                gpa = newGpa;
            }
        }

        @Override
        public void close() {
            synchronized (FakeMemoryMap.this) {
                mappings.remove(this);
            }
        }
    }
}
