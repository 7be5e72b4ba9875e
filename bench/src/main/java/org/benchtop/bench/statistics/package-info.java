/** Robust statistics of repeated measurements. */
@NullMarked
package org.benchtop.bench.statistics;

import org.jspecify.annotations.NullMarked;
