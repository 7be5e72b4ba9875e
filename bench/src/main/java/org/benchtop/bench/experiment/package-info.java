/** Experiment files: the matrix over a machine and a job. */
@NullMarked
package org.benchtop.bench.experiment;

import org.jspecify.annotations.NullMarked;
