package org.benchtop.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class BenchtopExceptionTest {
    @Test
    void kindMessageAndFactsAreKept() {
        BenchtopException error = BenchtopException.of(ErrorKind.IMAGE, "bad magic", Map.of("offset", 4), null);

        assertEquals(ErrorKind.IMAGE, error.kind());
        assertEquals(Map.of("offset", 4), error.context());
        assertEquals("bad magic", error.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"CONFIG,2", "IMAGE,2", "PLUGIN,2", "HOST,3", "UNSUPPORTED,3", "GUEST,4", "INTERNAL,1"})
    void exitCodesAreThoseOfTheManual(ErrorKind kind, int exitCode) {
        assertEquals(exitCode, kind.exitCode());
    }
}
