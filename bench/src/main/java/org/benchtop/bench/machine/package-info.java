/** Runs cases on real machines with the embedded guest. */
@NullMarked
package org.benchtop.bench.machine;

import org.jspecify.annotations.NullMarked;
