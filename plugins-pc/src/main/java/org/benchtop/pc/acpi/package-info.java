/** ACPI tables and the AML that describes the board. */
@NullMarked
package org.benchtop.pc.acpi;

import org.jspecify.annotations.NullMarked;
