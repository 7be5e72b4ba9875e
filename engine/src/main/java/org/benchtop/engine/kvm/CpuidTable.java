package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** An immutable set of CPUID leaves and its form in {@code struct kvm_cpuid2}. */
record CpuidTable(List<CpuidLeaf> leaves) {
    CpuidTable {
        leaves = List.copyOf(leaves);
    }

    /** Room for {@code capacity} entries, said so in the head. */
    static MemorySegment allocate(Arena arena, int capacity) {
        MemorySegment table = arena.allocate(KvmCpuid2.SIZE + capacity * KvmCpuidEntry2.SIZE, Long.BYTES);
        KvmCpuid2.nent(table, 0, capacity);
        return table;
    }

    static CpuidTable read(MemorySegment table) {
        int count = KvmCpuid2.nent(table, 0);
        List<CpuidLeaf> leaves = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            long offset = KvmCpuid2.SIZE + i * KvmCpuidEntry2.SIZE;
            leaves.add(new CpuidLeaf(
                    KvmCpuidEntry2.function(table, offset),
                    KvmCpuidEntry2.index(table, offset),
                    KvmCpuidEntry2.flags(table, offset),
                    KvmCpuidEntry2.eax(table, offset),
                    KvmCpuidEntry2.ebx(table, offset),
                    KvmCpuidEntry2.ecx(table, offset),
                    KvmCpuidEntry2.edx(table, offset)));
        }
        return new CpuidTable(leaves);
    }

    MemorySegment write(Arena arena) {
        MemorySegment table = allocate(arena, leaves.size());
        for (int i = 0; i < leaves.size(); i++) {
            CpuidLeaf leaf = leaves.get(i);
            long offset = KvmCpuid2.SIZE + i * KvmCpuidEntry2.SIZE;
            KvmCpuidEntry2.function(table, offset, leaf.function());
            KvmCpuidEntry2.index(table, offset, leaf.index());
            KvmCpuidEntry2.flags(table, offset, leaf.flags());
            KvmCpuidEntry2.eax(table, offset, leaf.eax());
            KvmCpuidEntry2.ebx(table, offset, leaf.ebx());
            KvmCpuidEntry2.ecx(table, offset, leaf.ecx());
            KvmCpuidEntry2.edx(table, offset, leaf.edx());
        }
        return table;
    }

    /** The leaf that CPUID returns for a function and index. */
    Optional<CpuidLeaf> find(int function, int index) {
        for (CpuidLeaf leaf : leaves) {
            boolean anyIndex = (leaf.flags() & CpuidLeaf.SIGNIFICANT_INDEX) == 0;
            if (leaf.function() == function && (anyIndex || leaf.index() == index)) {
                return Optional.of(leaf);
            }
        }
        return Optional.empty();
    }

    /** Whether the table has a function at all. */
    boolean has(int function) {
        for (CpuidLeaf leaf : leaves) {
            if (leaf.function() == function) {
                return true;
            }
        }
        return false;
    }

    /** This table with a leaf added, or put in the place of the one with its function and index. */
    CpuidTable with(CpuidLeaf leaf) {
        List<CpuidLeaf> changed = new ArrayList<>(leaves.size() + 1);
        boolean placed = false;
        for (CpuidLeaf old : leaves) {
            if (old.function() == leaf.function() && old.index() == leaf.index()) {
                changed.add(leaf);
                placed = true;
            } else {
                changed.add(old);
            }
        }
        if (!placed) {
            changed.add(leaf);
        }
        return new CpuidTable(changed);
    }

    /** This table without any leaf of a function. */
    CpuidTable without(int function) {
        return new CpuidTable(
                leaves.stream().filter(leaf -> leaf.function() != function).toList());
    }
}
