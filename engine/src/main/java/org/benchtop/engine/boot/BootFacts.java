package org.benchtop.engine.boot;

import java.util.OptionalLong;

/**
 * What a boot loader tells the guest about its machine, besides RAM.
 *
 * @param rsdpGpa where the ACPI root pointer is, if the machine has ACPI tables
 */
public record BootFacts(OptionalLong rsdpGpa) {
    /** A machine without ACPI tables. */
    public static final BootFacts NONE = new BootFacts(OptionalLong.empty());
}
