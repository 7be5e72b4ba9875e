package org.benchtop.spi.guest;

import java.util.List;

/** A program for {@code boot: {guest: NAME}}: an ELF image that is entered by the PVH protocol. */
public interface GuestProgramType {
    /** The name in YAML. */
    String name();

    /** One sentence for {@code guest list}. */
    String summary();

    /** What the program understands on its command line, as {@code key=value} words. */
    List<Parameter> parameters();

    /** A complete 64-bit ELF with a PVH note. Built on demand; the caller may keep it. */
    byte[] elf();

    /**
     * One parameter.
     *
     * @param name the key
     * @param defaultValue what happens without it
     * @param doc one sentence
     */
    record Parameter(String name, String defaultValue, String doc) {}
}
