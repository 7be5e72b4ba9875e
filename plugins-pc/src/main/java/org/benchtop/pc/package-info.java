/** The PC platform: board, chipset, serial ports, firmware interfaces and character backends. */
@NullMarked
package org.benchtop.pc;

import org.jspecify.annotations.NullMarked;
