/** Clocks. */
@NullMarked
package org.benchtop.spi.time;

import org.jspecify.annotations.NullMarked;
