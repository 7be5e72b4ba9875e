/** Charts as SVG, shared by reports and notebooks. */
@NullMarked
package org.benchtop.bench.chart;

import org.jspecify.annotations.NullMarked;
