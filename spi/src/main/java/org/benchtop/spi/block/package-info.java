/** Block backends: whatever stores a disk's bytes. */
@NullMarked
package org.benchtop.spi.block;

import org.jspecify.annotations.NullMarked;
