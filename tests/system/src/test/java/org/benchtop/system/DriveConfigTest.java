package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.benchtop.engine.DriveSet;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineYaml;
import org.benchtop.engine.config.Problems;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.SpecCheck;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Drives that stand on each other, as YAML describes them. */
final class DriveConfigTest {
    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private static MachineSpec spec(String drives) {
        return MachineYaml.parse(
                        "boot: none\ndrives:\n" + drives,
                        "vm.yaml",
                        Path.of("/"),
                        "vm",
                        name -> java.util.Optional.empty())
                .spec();
    }

    private List<String> problems(String drives) {
        Problems problems = new Problems();
        SpecCheck.check(spec(drives), plugins, problems);
        return problems.all().stream().map(Object::toString).toList();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'  a: { type: overlay, drive: a }\n' | 'vm.yaml:3:6 drives.a: drives form a ring: a -> a'",
                "'  a: { type: overlay, drive: b }\n  b: { type: throttle, drive: a, iops: 1 }\n'"
                        + " | 'vm.yaml:3:6 drives.a: drives form a ring: a -> b -> a'",
                "'  a: { type: overlay, drive: b }\n  b: { type: trace, drive: c, file: t }\n"
                        + "  c: { type: fault, drive: a, rules: [] }\n'"
                        + " | 'vm.yaml:3:6 drives.a: drives form a ring: a -> b -> c -> a'",
            })
    void ringOfFiltersIsOneClearError(String drives, String expected) {
        assertEquals(List.of(expected), problems(drives));
    }

    @Test
    void ringIsAlsoRefusedWhenDrivesAreOpened() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
        MachineSpec ring = spec("  a: { type: overlay, drive: b }\n  b: { type: overlay, drive: a }\n");
        try (DriveSet drives = DriveSet.of(ring, plugins)) {
            BenchtopException error = assertThrows(BenchtopException.class, () -> drives.open("a"));

            assertEquals("vm.yaml:3:6 drives.a: drives form a ring: a -> b -> a", error.getMessage());
        }
    }

    @Test
    void driveBelowTwoFiltersIsRefused() {
        List<String> problems = problems(
                "  a: { type: null }\n  b: { type: overlay, drive: a }\n" + "  c: { type: overlay, drive: a }\n");

        assertEquals(1, problems.size(), problems.toString());
        assertTrue(problems.getFirst().contains("is used by drives.b already"), problems.toString());
    }

    @Test
    void limitsAndRulesAreChecked() {
        List<String> problems = problems("  a: { type: null }\n  b: { type: throttle, drive: a }\n  c: { type: null }\n"
                + "  d: { type: fault, drive: c, rules: [{op: flush, effect: torn}] }\n");

        assertEquals(2, problems.size(), problems.toString());
        assertTrue(problems.get(0).contains("throttle needs a limit"), problems.toString());
        assertTrue(problems.get(1).contains("torn and corrupt need op"), problems.toString());
    }
}
