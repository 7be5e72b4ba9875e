/** Counters and histograms behind the SPI's {@code Stats}. */
@NullMarked
package org.benchtop.engine.stats;

import org.jspecify.annotations.NullMarked;
