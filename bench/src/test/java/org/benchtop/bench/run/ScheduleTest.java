package org.benchtop.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.benchtop.bench.Experiments;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.Experiment;
import org.junit.jupiter.api.Test;

class ScheduleTest {
    private static Set<String> all(Experiment experiment) {
        return experiment.cases().stream().map(CaseSpec::id).collect(Collectors.toSet());
    }

    private static List<String> names(List<Schedule.Entry> entries) {
        return entries.stream()
                .map(entry -> entry.block() + " " + entry.spec().id())
                .toList();
    }

    @Test
    void everyBlockHoldsEveryCaseOnce() {
        Experiment experiment = Experiments.tiny();

        List<Schedule.Entry> plan = Schedule.of(experiment, all(experiment));

        assertEquals(4 * (6 + 1), plan.size());
        for (int block = 0; block <= 6; block++) {
            List<Schedule.Entry> entries = plan.subList(block * 4, block * 4 + 4);
            int expected = block;
            entries.forEach(entry -> {
                assertEquals(expected, entry.block());
                assertEquals(expected == 0 ? RunKind.WARMUP : RunKind.MEASURED, entry.kind());
            });
            assertEquals(
                    all(experiment),
                    entries.stream().map(entry -> entry.spec().id()).collect(Collectors.toSet()));
        }
    }

    @Test
    void theOrderDiffersFromBlockToBlockAndFollowsTheSeed() {
        Experiment experiment = Experiments.tiny();
        List<String> plan = names(Schedule.of(experiment, all(experiment)));
        Set<List<String>> orders = new HashSet<>();
        for (int block = 0; block <= 6; block++) {
            orders.add(plan.subList(block * 4, block * 4 + 4).stream()
                    .map(name -> name.substring(2))
                    .toList());
        }

        assertNotEquals(1, orders.size());
        assertEquals(plan, names(Schedule.of(experiment, all(experiment))));
        Experiment other = Experiments.parse(Experiments.TEXT + "seed: 43\n");
        assertNotEquals(plan, names(Schedule.of(other, all(other))));
    }

    @Test
    void listedOrderIsKept() {
        Experiment experiment = Experiments.parse(Experiments.TEXT + "order: listed\n");
        List<String> first = names(Schedule.of(experiment, all(experiment)).subList(4, 8));

        assertEquals(experiment.cases().stream().map(spec -> "1 " + spec.id()).toList(), first);
    }

    @Test
    void leavingOutCasesOrAddingRepeatsKeepsTheOrderOfTheRest() {
        Experiment experiment = Experiments.tiny();
        String left = experiment.cases().get(1).id();
        Set<String> some = all(experiment);
        some.remove(left);
        List<String> expected = new ArrayList<>(names(Schedule.of(experiment, all(experiment))));
        expected.removeIf(name -> name.endsWith(left));

        assertEquals(expected, names(Schedule.of(experiment, some)));
        Experiment longer = Experiments.parse(Experiments.TEXT.replace("repeats: 6", "repeats: 9"));
        assertEquals(
                names(Schedule.of(experiment, all(experiment))),
                names(Schedule.of(longer, all(longer))).subList(0, 28));
    }
}
