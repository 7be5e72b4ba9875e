package org.benchtop.engine.boot;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryAccess;
import org.benchtop.spi.memory.MemoryMap;

/**
 * Firmware in a ROM that ends at 4 GiB, whose last 128 KiB also show below 1 MiB.
 *
 * @param name for messages
 * @param rom its content
 */
record FirmwareImage(String name, byte[] rom) implements BootImage {
    private static final int PAGE = 4096;
    private static final int MAX_BYTES = 16 << 20;
    private static final int LOW_WINDOW_BYTES = 128 << 10;
    private static final long LOW_WINDOW_END = 1 << 20;
    private static final long ROM_END = 1L << 32;

    static FirmwareImage load(Path file) {
        return parse("firmware " + file, ImageFiles.read("firmware", file));
    }

    static FirmwareImage parse(String name, byte[] rom) {
        if (rom.length == 0 || rom.length % PAGE != 0 || rom.length > MAX_BYTES) {
            throw ImageErrors.error(
                    name, "a ROM of " + rom.length + " bytes, expected a multiple of 4 KiB up to 16 MiB");
        }
        return new FirmwareImage(name, rom);
    }

    @Override
    public String description() {
        return name + ", entered at the reset vector";
    }

    @Override
    public boolean firmware() {
        return true;
    }

    @Override
    public void map(MemoryMap memoryMap) {
        MemorySegment memory = memoryMap.allocate("firmware", rom.length);
        MemorySegment.copy(MemorySegment.ofArray(rom), 0, memory, 0, rom.length);
        memoryMap.map("firmware", ROM_END - rom.length, memory, MemoryAccess.READ_ONLY);
        int lowBytes = Math.min(rom.length, LOW_WINDOW_BYTES);
        memoryMap.map(
                "firmware-low",
                LOW_WINDOW_END - lowBytes,
                memory.asSlice(rom.length - lowBytes, lowBytes),
                MemoryAccess.READ_ONLY);
    }

    @Override
    public BootState apply(GuestMemory memory, BootFacts facts) {
        return CpuStates.reset();
    }
}
