package org.benchtop.spi.bus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class IoEventMatchTest {
    @Test
    void sizesThatNoGuestCanWriteAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> IoEventMatch.anyValue(3));
        assertThrows(IllegalArgumentException.class, () -> IoEventMatch.anyValue(16));
        assertThrows(IllegalArgumentException.class, () -> IoEventMatch.value(0, 1));
        assertEquals(OptionalLong.of(7), IoEventMatch.value(2, 7).value());
        assertEquals(OptionalLong.empty(), IoEventMatch.anyValue(0).value());
    }
}
