package org.benchtop.engine.boot;

import java.util.List;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.memory.GuestMemory;

/**
 * Raw code.
 *
 * @param name for messages
 * @param segment the code and where it goes
 * @param entry where it is entered
 * @param mode in which CPU mode
 */
record FlatImage(String name, ImageSegment segment, long entry, BootSpec.Mode mode) implements BootImage {
    private static final long REAL_MODE_END = 1 << 20;
    private static final long PROTECTED_MODE_END = 1L << 32;
    private static final long REAL_MODE_STACK = 0x7000;

    static FlatImage load(BootSpec.Flat spec) {
        return parse("flat image " + spec.flat(), ImageFiles.read("flat image", spec.flat()), spec);
    }

    static FlatImage parse(String name, byte[] data, BootSpec.Flat spec) {
        long entry = spec.entry().orElse(spec.load());
        long reservedEnd = spec.mode() == BootSpec.Mode.REAL ? 0 : BootLayout.FLAT_END;
        ImageSegment segment = ImageSegment.checked(
                        name, List.of(new ImageSegment(spec.load(), data, data.length)), reservedEnd)
                .getFirst();
        if (!segment.contains(entry)) {
            throw ImageErrors.error(
                    name,
                    "the entry " + ImageErrors.hex(entry) + " is outside the image at " + ImageErrors.hex(spec.load())
                            + "..+" + ImageErrors.hex(data.length));
        }
        long end = spec.mode() == BootSpec.Mode.REAL ? REAL_MODE_END : PROTECTED_MODE_END;
        if (entry >= end) {
            throw ImageErrors.error(
                    name,
                    "the entry " + ImageErrors.hex(entry) + " cannot be reached in "
                            + (spec.mode() == BootSpec.Mode.REAL
                                    ? "real mode (below 1 MiB)"
                                    : "this mode (below 4 GiB)"));
        }
        return new FlatImage(name, segment, entry, spec.mode());
    }

    @Override
    public String description() {
        String how = switch (mode) {
            case REAL -> "real mode";
            case PROTECTED -> "32-bit mode";
            case LONG -> "64-bit mode";
        };
        return name + ", " + how + " entry " + ImageErrors.hex(entry);
    }

    @Override
    public BootState apply(GuestMemory memory, BootFacts facts) {
        BootRam ram = new BootRam(name, memory);
        ram.write(segment);
        if (mode == BootSpec.Mode.REAL) {
            return CpuStates.real(entry, REAL_MODE_STACK);
        }
        Registers registers = CpuStates.registers(entry, 0, 0, 0);
        DescriptorTable gdt = ram.writeGdt(mode == BootSpec.Mode.LONG);
        return new BootState(
                registers,
                mode == BootSpec.Mode.LONG
                        ? CpuStates.longMode(gdt, ram.writePageTables())
                        : CpuStates.protectedMode(gdt));
    }
}
