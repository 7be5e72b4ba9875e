/** Event loops, doorbells and timers. */
@NullMarked
package org.benchtop.spi.event;

import org.jspecify.annotations.NullMarked;
