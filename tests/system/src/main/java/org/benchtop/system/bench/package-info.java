/** Benchmarks against other emulators and against C; run by hand, never as tests. */
@NullMarked
package org.benchtop.system.bench;

import org.jspecify.annotations.NullMarked;
