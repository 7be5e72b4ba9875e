package org.benchtop.engine.boot;

import java.util.OptionalLong;

/**
 * What a boot loader tells the guest about its machine, besides RAM.
 *
 * @param rsdpGpa where the ACPI root pointer is, if the machine has ACPI tables
 * @param tscKilohertz the frequency of the guest's time-stamp counter, if it is known exactly
 */
public record BootFacts(OptionalLong rsdpGpa, OptionalLong tscKilohertz) {
    /** A machine without ACPI tables, whose clock nobody knows. */
    public static final BootFacts NONE = new BootFacts(OptionalLong.empty(), OptionalLong.empty());
}
