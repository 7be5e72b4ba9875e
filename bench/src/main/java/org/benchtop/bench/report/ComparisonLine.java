package org.benchtop.bench.report;

import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import org.benchtop.bench.experiment.CompareSpec;
import org.benchtop.bench.statistics.Comparison;

/**
 * One comparison of two cases that differ in one axis.
 *
 * @param spec what is compared
 * @param elsewhere the axes that both share, with their values
 * @param comparison what came out
 * @param publishedRatio the same ratio of the published figures, if they have both
 */
public record ComparisonLine(
        CompareSpec spec, Map<String, String> elsewhere, Comparison comparison, OptionalDouble publishedRatio) {
    /** What is compared: {@code on against off, cpus=2}. */
    public String subject() {
        String where = elsewhere.entrySet().stream()
                .map(label -> label.getKey() + "=" + label.getValue())
                .collect(Collectors.joining(", "));
        return comparison.candidateName() + " against " + comparison.baselineName()
                + (where.isEmpty() ? "" : ", " + where);
    }

    /** The verdict in one line. */
    public String verdict() {
        return comparison.text(spec.metric().moreWord(), spec.metric().lessWord());
    }
}
