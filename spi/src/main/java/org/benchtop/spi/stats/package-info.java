/** Named counters and latency histograms. */
@NullMarked
package org.benchtop.spi.stats;

import org.jspecify.annotations.NullMarked;
