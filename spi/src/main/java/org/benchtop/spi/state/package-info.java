/** Saved state of devices. */
@NullMarked
package org.benchtop.spi.state;

import org.jspecify.annotations.NullMarked;
