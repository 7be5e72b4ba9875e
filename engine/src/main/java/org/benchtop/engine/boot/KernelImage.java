package org.benchtop.engine.boot;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.spi.memory.GuestMemory;

/**
 * A kernel or program that is loaded in segments.
 *
 * @param name for messages
 * @param protocol how it is entered, never {@link BootSpec.Protocol#AUTO}
 * @param entry where it is entered
 * @param segments what is loaded where
 * @param cmdline its command line
 * @param initrd its initial RAM disk
 */
record KernelImage(
        String name,
        BootSpec.Protocol protocol,
        long entry,
        List<ImageSegment> segments,
        byte[] cmdline,
        Optional<Initrd> initrd)
        implements BootImage {
    /** Linux' COMMAND_LINE_SIZE on x86 without the NUL; ELF files do not tell theirs. */
    static final int CMDLINE_MAX_BYTES = 2047;

    static KernelImage parse(ImageBytes image, String cmdline, Optional<Initrd> initrd, BootSpec.Protocol protocol) {
        byte[] words = BootRam.cmdline(image.name(), cmdline, CMDLINE_MAX_BYTES);
        OptionalInt multiboot = Multiboot.find(image);
        boolean elf = ElfFile.isElf(image);
        if (!elf || protocol == BootSpec.Protocol.MULTIBOOT && hasAddresses(image, multiboot)) {
            return parseMultiboot(image, multiboot, words, initrd, protocol);
        }
        ElfFile file = ElfFile.parse(image);
        BootSpec.Protocol chosen = switch (protocol) {
            case AUTO ->
                file.pvhEntry().isPresent()
                        ? BootSpec.Protocol.PVH
                        : multiboot.isPresent() ? BootSpec.Protocol.MULTIBOOT : BootSpec.Protocol.LINUX64;
            case PVH, LINUX64, MULTIBOOT -> protocol;
        };
        long entry = switch (chosen) {
            case PVH -> file.pvhEntry().orElseThrow(() -> image.error("has no PVH note (protocol: linux64 may work)"));
            case LINUX64 -> {
                if (!file.wide()) {
                    throw image.error("a 32-bit ELF without PVH note or Multiboot header cannot be entered");
                }
                yield file.entry();
            }
            case MULTIBOOT -> {
                Multiboot.checkRequirements(image, multiboot.orElseThrow(() -> image.error("has no Multiboot header")));
                yield file.entry();
            }
            case AUTO -> throw new IllegalStateException("no protocol chosen");
        };
        return checked(new KernelImage(image.name(), chosen, entry, file.segments(), words, initrd));
    }

    KernelImage withCmdline(String words) {
        return new KernelImage(
                name, protocol, entry, segments, BootRam.cmdline(name, words, CMDLINE_MAX_BYTES), initrd);
    }

    private static boolean hasAddresses(ImageBytes image, OptionalInt multiboot) {
        return multiboot.isPresent() && Multiboot.hasAddresses(image, multiboot.getAsInt());
    }

    private static KernelImage parseMultiboot(
            ImageBytes image,
            OptionalInt multiboot,
            byte[] cmdline,
            Optional<Initrd> initrd,
            BootSpec.Protocol protocol) {
        if (!hasAddresses(image, multiboot)) {
            throw image.error("not a kernel: no ELF file, no bzImage and no Multiboot image (starts with "
                    + firstBytes(image) + ")");
        }
        if (protocol != BootSpec.Protocol.AUTO && protocol != BootSpec.Protocol.MULTIBOOT) {
            throw image.error("a Multiboot image cannot be entered otherwise (protocol: auto)");
        }
        int header = multiboot.getAsInt();
        Multiboot.checkRequirements(image, header);
        List<ImageSegment> segments =
                ImageSegment.checked(image.name(), List.of(Multiboot.segment(image, header)), BootLayout.END);
        return checked(new KernelImage(
                image.name(), BootSpec.Protocol.MULTIBOOT, Multiboot.entry(image, header), segments, cmdline, initrd));
    }

    private static String firstBytes(ImageBytes image) {
        StringBuilder bytes = new StringBuilder();
        for (int i = 0; i < Math.min(4, image.length()); i++) {
            bytes.append(i == 0 ? "" : " ").append(String.format("%02x", image.u8("start", i)));
        }
        return bytes.toString();
    }

    private static KernelImage checked(KernelImage kernel) {
        if (kernel.segments.stream().noneMatch(segment -> segment.contains(kernel.entry))) {
            throw ImageErrors.error(
                    kernel.name, "the entry " + ImageErrors.hex(kernel.entry) + " is outside all segments");
        }
        return kernel;
    }

    @Override
    public String description() {
        String how = switch (protocol) {
            case PVH -> "PVH entry";
            case LINUX64 -> "64-bit Linux entry";
            case MULTIBOOT -> "Multiboot entry";
            case AUTO -> "entry";
        };
        return name + ", " + how + " " + ImageErrors.hex(entry);
    }

    @Override
    public BootState apply(GuestMemory memory, BootFacts facts) {
        BootRam ram = new BootRam(name, memory);
        segments.forEach(segment -> ram.require(segment.gpa(), segment.memoryBytes()));
        segments.forEach(ram::write);
        long kernelEnd = segments.getLast().endGpa();
        return switch (protocol) {
            case PVH -> StartInfo.enter(ram, entry, cmdline, initrd, kernelEnd, facts);
            case MULTIBOOT -> Multiboot.enter(ram, entry, cmdline, initrd, kernelEnd);
            case LINUX64, AUTO ->
                ZeroPage.enter(
                        ram,
                        ZeroPage.withoutHeader(CMDLINE_MAX_BYTES),
                        entry,
                        cmdline,
                        initrd,
                        kernelEnd,
                        ram.lowEnd() - 1,
                        facts);
        };
    }
}
