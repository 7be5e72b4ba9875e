/** Interrupt controllers for CPU engines that have none: local APICs and IOAPIC. */
@NullMarked
package org.benchtop.pc.apic;

import org.jspecify.annotations.NullMarked;
