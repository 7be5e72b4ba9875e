/** Benchmarks of the engine against the least that C can do; run by hand, never as tests. */
@NullMarked
package org.benchtop.system.bench;

import org.jspecify.annotations.NullMarked;
