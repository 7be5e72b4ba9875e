/** Port I/O and memory-mapped I/O as devices see them. */
@NullMarked
package org.benchtop.spi.bus;

import org.jspecify.annotations.NullMarked;
