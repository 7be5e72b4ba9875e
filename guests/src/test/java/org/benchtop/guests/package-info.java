/** Tests of the guest compiler and of the programs, under QEMU. */
@NullMarked
package org.benchtop.guests;

import org.jspecify.annotations.NullMarked;
