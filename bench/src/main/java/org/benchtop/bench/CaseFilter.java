package org.benchtop.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.benchtop.bench.experiment.Axis;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.benchtop.engine.config.Suggestions;
import org.benchtop.spi.BenchtopException;

/** The {@code --filter} words: {@code axis=value}, {@code axis=one|other}, or a part of a case's name; all must hold. */
final class CaseFilter {
    private CaseFilter() {}

    static Predicate<CaseSpec> of(List<String> words, Experiment experiment) {
        List<Predicate<CaseSpec>> terms = new ArrayList<>();
        words.stream()
                .flatMap(word -> Arrays.stream(word.split(",")))
                .map(String::strip)
                .filter(word -> !word.isEmpty())
                .forEach(word -> terms.add(term(word, experiment)));
        return spec -> terms.stream().allMatch(term -> term.test(spec));
    }

    private static Predicate<CaseSpec> term(String word, Experiment experiment) {
        int equals = word.indexOf('=');
        if (equals < 0) {
            return spec -> spec.id().contains(word);
        }
        String name = word.substring(0, equals);
        Axis axis = experiment.axes().stream()
                .filter(candidate ->
                        candidate.label().equals(name) || candidate.path().equals(name))
                .findFirst()
                .orElseThrow(() -> BenchtopException.config("--filter: \"" + name + "\" is no axis of "
                        + experiment.id()
                        + Suggestions.hint(
                                name,
                                experiment.axes().stream().map(Axis::label).toList())));
        List<String> wanted = List.of(word.substring(equals + 1).split("\\|"));
        for (String value : wanted) {
            if (!axis.values().contains(value)) {
                throw BenchtopException.config("--filter: \"" + value + "\" is no value of " + axis.label()
                        + Suggestions.hint(value, axis.values()));
            }
        }
        return spec -> wanted.contains(spec.labels().getOrDefault(axis.label(), ""));
    }
}
