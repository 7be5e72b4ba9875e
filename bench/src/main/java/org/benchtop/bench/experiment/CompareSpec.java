package org.benchtop.bench.experiment;

import org.benchtop.bench.measure.Metric;

/**
 * Which cases are compared.
 *
 * @param axis the label of the axis whose values are compared; everything else is kept equal
 * @param baseline the label of the value that the others are compared with
 * @param metric the figure that is compared
 */
public record CompareSpec(String axis, String baseline, Metric metric) {}
