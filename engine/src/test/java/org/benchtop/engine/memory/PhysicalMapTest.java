package org.benchtop.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmFeatures;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PhysicalMapTest {
    private final Arena arena = Arena.ofConfined();
    private final SlotRecorder vm = new SlotRecorder();
    private final MemorySegment ram = arena.allocate(0x10_0000, 4096);
    private final PhysicalMap map = new PhysicalMap(vm, arena, RamLayout.around(ram, 0xc000_0000L));

    @AfterEach
    void close() {
        arena.close();
    }

    /** Keeps the slots that a CPU engine would have, and fails where they would overlap. */
    private static final class SlotRecorder implements CpuVm {
        private record Slot(long gpa, long size, long host, MemoryAccess access) {}

        private final TreeMap<Integer, Slot> slots = new TreeMap<>();

        @Override
        public CpuVmFeatures features() {
            return new CpuVmFeatures(false, false, false, true);
        }

        @Override
        public void mapMemory(int slot, long gpa, MemorySegment memory, MemoryAccess access) {
            for (Slot other : slots.values()) {
                if (gpa < other.gpa + other.size && other.gpa < gpa + memory.byteSize()) {
                    throw new AssertionError("slots overlap at " + Long.toHexString(gpa));
                }
            }
            slots.put(slot, new Slot(gpa, memory.byteSize(), memory.address(), access));
        }

        @Override
        public void unmapMemory(int slot) {
            if (slots.remove(slot) == null) {
                throw new AssertionError("slot " + slot + " is not mapped");
            }
        }

        List<String> layout() {
            List<String> lines = new ArrayList<>();
            slots.values().stream()
                    .sorted((a, b) -> Long.compare(a.gpa, b.gpa))
                    .forEach(s -> lines.add(Long.toHexString(s.gpa) + "+" + Long.toHexString(s.size) + " " + s.access));
            return lines;
        }

        @Override
        public Vcpu createVcpu(int index) {
            throw new AssertionError("not asked for");
        }

        @Override
        public Optional<IrqChip> irqChip() {
            return Optional.empty();
        }

        @Override
        public Optional<AutoCloseable> addIoEvent(
                AddressSpace space, long address, IoEventMatch match, Doorbell doorbell) {
            return Optional.empty();
        }

        @Override
        public void logDirty(boolean enabled) {}

        @Override
        public void collectDirty(int slot, long[] bitmap) {}

        @Override
        public void written(long gpa, long lengthBytes) {}

        @Override
        public void close() {}
    }

    @Test
    void ramIsOneSlot() {
        assertEquals(List.of("0+100000 READ_WRITE"), vm.layout());
    }

    @Test
    void laterMappingCoversRamAndUncoversItAgain() {
        MemorySegment rom = map.allocate("rom", 0x2000);
        MemoryMap.Mapping mapping = map.map("rom", 0xe000, rom, MemoryAccess.READ_ONLY);

        List<String> covered = vm.layout();
        mapping.close();

        assertEquals(List.of("0+e000 READ_WRITE", "e000+2000 READ_ONLY", "10000+f0000 READ_WRITE"), covered);
        assertEquals(List.of("0+100000 READ_WRITE"), vm.layout());
    }

    @Test
    void hiddenMappingShowsWhatLiesBeneath() {
        MemorySegment rom = map.allocate("rom", 0x1000);
        MemoryMap.Mapping mapping = map.map("rom", 0xf000, rom, MemoryAccess.READ_ONLY);

        mapping.access(MemoryAccess.NONE);

        assertEquals(List.of("0+100000 READ_WRITE"), vm.layout());
    }

    @Test
    void mappingOutsideRamCanMove() {
        MemorySegment vram = map.allocate("vram", 0x1000);
        MemoryMap.Mapping mapping = map.map("vram", 0xe000_0000L, vram, MemoryAccess.READ_WRITE);

        mapping.move(0xf000_0000L);

        assertEquals(List.of("0+100000 READ_WRITE", "f0000000+1000 READ_WRITE"), vm.layout());
    }

    @Test
    void splitRamStillPointsAtTheSameHostMemory() {
        map.map("rom", 0xe000, map.allocate("rom", 0x1000), MemoryAccess.READ_ONLY);

        PhysicalMap.Flat tail = map.flat().getLast();

        assertEquals(0xf000, tail.gpa());
        assertEquals(ram.address() + 0xf000, tail.memory().address());
    }

    @Test
    void unalignedMappingIsRefused() {
        MemorySegment rom = map.allocate("rom", 0x1000);

        BenchtopException e =
                assertThrows(BenchtopException.class, () -> map.map("rom", 0x1800, rom, MemoryAccess.READ_ONLY));

        assertEquals("mapping rom at 0x1800 size 0x1000 is not whole 4 KiB pages", e.getMessage());
    }
}
