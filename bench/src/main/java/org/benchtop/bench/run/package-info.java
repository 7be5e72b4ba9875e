/** Running an experiment: order, host load, journal, resume. */
@NullMarked
package org.benchtop.bench.run;

import org.jspecify.annotations.NullMarked;
