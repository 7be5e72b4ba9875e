/** Intel 440FX host bridge, PIIX3 ISA bridge and PIIX4 power management. */
@NullMarked
package org.benchtop.pc.chipset;

import org.jspecify.annotations.NullMarked;
