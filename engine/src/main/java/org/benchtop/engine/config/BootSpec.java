package org.benchtop.engine.config;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;

/** What the machine starts with. Paths are absolute or relative to the YAML's folder. */
public sealed interface BootSpec {
    /** Nothing: the vCPUs start at the reset vector with whatever is there. */
    record None() implements BootSpec {}

    /**
     * An embedded guest program.
     *
     * @param program its name
     * @param cmdline words that it understands
     */
    record Guest(
            @Option(name = "guest", doc = "name of an embedded guest program (benchtop guest list)")
            String program,

            @Option(doc = "command line of the program, key=value words", value = "")
            String cmdline)
            implements BootSpec {}

    /**
     * A Linux kernel or another ELF or multiboot image.
     *
     * @param kernel vmlinux, bzImage, another ELF with a PVH note, or a Multiboot image
     * @param initrd initial RAM disk
     * @param cmdline kernel command line
     * @param protocol how to enter it
     */
    record Kernel(
            @Option(doc = "vmlinux (ELF), bzImage or Multiboot image")
            Path kernel,

            @Option(doc = "initial RAM disk") Optional<Path> initrd,
            @Option(doc = "kernel command line", value = "") String cmdline,

            @Option(doc = "how to enter the kernel; auto takes what the image offers", value = "auto")
            Protocol protocol)
            implements BootSpec {}

    /**
     * Firmware, mapped so that it ends at 4 GiB.
     *
     * @param firmware the ROM image
     */
    record Firmware(
            @Option(doc = "ROM image, such as SeaBIOS bios-256k.bin")
            Path firmware) implements BootSpec {}

    /**
     * Raw code.
     *
     * @param flat the image
     * @param load where it is put
     * @param entry where it is entered
     * @param mode in which CPU mode
     */
    record Flat(
            @Option(doc = "raw code image") Path flat,

            @Option(doc = "guest physical address of the image", value = "0x10000", min = 0)
            long load,

            @Option(doc = "address of the first instruction (default: where the image starts)", min = 0)
            Optional<Long> entry,

            @Option(doc = "CPU mode at entry", value = "long")
            Mode mode)
            implements BootSpec {}

    /**
     * Something that a plugin makes or fetches.
     *
     * @param source the plugin's type and its options
     */
    record Source(EntrySpec source) implements BootSpec {}

    /** How a kernel is entered. */
    enum Protocol {
        /** PVH where the image has the note, Multiboot where it has that header, otherwise the 64-bit protocol. */
        AUTO,
        /** 32-bit entry of the PVH ABI. */
        PVH,
        /** 64-bit entry of the Linux boot protocol. */
        LINUX64,
        /** 32-bit entry of Multiboot 1. */
        MULTIBOOT,
    }

    /** The CPU mode in which raw code is entered. */
    enum Mode {
        /** 16-bit real mode. */
        REAL,
        /** 32-bit protected mode without paging. */
        PROTECTED,
        /** 64-bit mode with the first 4 GiB identity-mapped. */
        LONG,
    }
}
