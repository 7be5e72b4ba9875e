/** Disk image formats, for drives and for the image tool. */
@NullMarked
package org.benchtop.spi.image;

import org.jspecify.annotations.NullMarked;
