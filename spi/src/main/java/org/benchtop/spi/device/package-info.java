/** Devices: what the guest sees. */
@NullMarked
package org.benchtop.spi.device;

import org.jspecify.annotations.NullMarked;
