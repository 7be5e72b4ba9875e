/** Benchmarks against other emulators; run by hand, never as tests. */
@NullMarked
package org.benchtop.system.bench;

import org.jspecify.annotations.NullMarked;
