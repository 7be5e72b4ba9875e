/** x87 floating point: 80-bit arithmetic, the register stack and its state images. */
@NullMarked
package org.benchtop.softcpu.fp;

import org.jspecify.annotations.NullMarked;
