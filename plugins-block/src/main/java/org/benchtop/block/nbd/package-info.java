/** The client of network block devices: {@code type: nbd}. */
@NullMarked
package org.benchtop.block.nbd;

import org.jspecify.annotations.NullMarked;
