/** What one run of a workload yields, and the figures derived from it. */
@NullMarked
package org.benchtop.bench.measure;

import org.jspecify.annotations.NullMarked;
