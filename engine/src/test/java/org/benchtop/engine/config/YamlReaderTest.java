package org.benchtop.engine.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class YamlReaderTest {
    private static ConfigValue read(String yaml) {
        return YamlReader.read(
                yaml,
                "vm.yaml",
                "",
                1,
                name -> Optional.ofNullable(Map.of("A", "1", "E", "").get(name)));
    }

    private static String error(String yaml) {
        BenchtopException e = assertThrows(BenchtopException.class, () -> read(yaml));
        return String.valueOf(e.getMessage());
    }

    private static String scalar(String yaml) {
        return ((ConfigValue.Scalar)
                        ((ConfigValue.Mapping) read(yaml)).find("x").orElseThrow())
                .text();
    }

    @Test
    void valuesKnowTheirPlace() {
        ConfigValue.Mapping root = (ConfigValue.Mapping) read("a:\n  - {b: 1}\n  - c\n");
        ConfigValue.Sequence list = (ConfigValue.Sequence) root.find("a").orElseThrow();
        ConfigValue b =
                ((ConfigValue.Mapping) list.items().getFirst()).find("b").orElseThrow();

        assertEquals("a[0].b", b.path());
        assertEquals("vm.yaml:2:9", b.position().toString());
        assertEquals("a[1]", list.items().get(1).path());
    }

    @ParameterizedTest
    @CsvSource({
        "'x: ${A}', 1",
        "'x: pre-${A}-${B:-two}', pre-1-two",
        "'x: ${E:-default}', default",
        "'x: $$A', $A",
        "'x: $A', $A",
        "'x: cost $', cost $",
        "'x: \"${B:-a:-b}\"', a:-b",
    })
    void variablesAreReplaced(String yaml, String text) {
        assertEquals(text, scalar(yaml));
    }

    @Test
    void textOfAVariableIsNotLookedAtAgain() {
        assertEquals(
                "${A}", ((ConfigValue.Scalar) YamlReader.read("${X}", "s", "", 1, name -> Optional.of("${A}"))).text());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "x: ${B} | vm.yaml:1:4 x: the variable B is not set (${B:-default} gives it a default)",
                "x: ${B | vm.yaml:1:4 x: \"${\" without \"}\" (write $$ for a dollar sign)",
                "x: ${a b} | vm.yaml:1:4 x: \"${a b}\" is not a variable (write $$ for a dollar sign)",
                "{x: 1, x: 2} | vm.yaml:1:8 x: the key \"x\" is written twice (first in line 1)",
                "x: *nobody | vm.yaml:1:4 x: unknown anchor *nobody",
                "x: !!java.lang.Thread {} | vm.yaml:1:4 x: the YAML tag tag:yaml.org,2002:java.lang.Thread is not allowed",
                "{[a]: b} | vm.yaml:1:2: a key must be a plain word",
                "{<<: 3} | vm.yaml:1:1: \"<<\" needs a map or a list of maps",
                "x: [1, 2 | vm.yaml:1:9: not valid YAML while parsing a flow sequence: expected ',' or ']', but got <stream end>",
                "x: @y | vm.yaml:1:4: not valid YAML while scanning for the next token: found character '@' that cannot start any token. (Do not use @ for indentation)",
            })
    void mistakesNameTheirPlace(String yaml, String message) {
        assertEquals(message, error(yaml));
    }

    @Test
    void secondDocumentIsRefused() {
        assertEquals("vm.yaml:2:1: only one YAML document is allowed", error("a: 1\n---\nb: 2\n"));
    }

    @Test
    void emptyDocumentIsRefused() {
        assertEquals("vm.yaml: the YAML document is empty", error("# nothing\n"));
    }

    @Test
    void mergeKeysAddWhatIsNotWritten() {
        ConfigValue value = read("base: &b {p: 1, q: 2}\nx: {<<: *b, q: 3}\n");

        ConfigValue x = ((ConfigValue.Mapping) value).find("x").orElseThrow();

        assertEquals(ConfigValue.of(Map.of("p", 1, "q", 3), "x"), x);
        assertEquals("x.p", ((ConfigValue.Mapping) x).find("p").orElseThrow().path());
    }

    @Test
    void aliasBombIsRefused() {
        StringBuilder yaml = new StringBuilder("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for (int i = 1; i < 20; i++) {
            yaml.append("a").append(i).append(": &a").append(i).append(" [");
            yaml.append("*a").append(i - 1).append((", *a" + (i - 1)).repeat(9)).append("]\n");
        }

        assertTrue(error(yaml.toString()).endsWith(": more than 50000 values"));
    }

    @Test
    void deepNestingIsRefused() {
        assertEquals("vm.yaml:1:66 " + "[0]".repeat(65) + ": nested more than 64 deep", error("[".repeat(100_000)));
    }

    @Test
    void controlCharactersAreRefused() {
        assertEquals("vm.yaml:1:1: not valid YAML: special characters are not allowed", error("a: \u0007"));
    }
}
