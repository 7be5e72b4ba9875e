/** The 16550A serial port. */
@NullMarked
package org.benchtop.pc.serial;

import org.jspecify.annotations.NullMarked;
