package org.benchtop.spi.pci;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.benchtop.spi.bus.RegisterAccess;
import org.junit.jupiter.api.Test;

final class BarTest {
    private static final RegisterAccess NOTHING = new RegisterAccess() {
        @Override
        public long read(long offset, int size) {
            return 0;
        }

        @Override
        public void write(long offset, int size, long value) {}
    };

    @Test
    void sizesMustBePowersOfTwoWithinTheLimitsOfTheKind() {
        assertThrows(IllegalArgumentException.class, () -> Bar.io(0, 3, NOTHING));
        assertThrows(IllegalArgumentException.class, () -> Bar.io(0, 2, NOTHING));
        assertThrows(IllegalArgumentException.class, () -> Bar.io(0, 512, NOTHING));
        assertThrows(IllegalArgumentException.class, () -> Bar.memory32(0, 8, NOTHING));
        assertThrows(IllegalArgumentException.class, () -> Bar.memory32(0, 0, NOTHING));
        assertThrows(IllegalArgumentException.class, () -> Bar.memory64(0, 4097, NOTHING));
        assertDoesNotThrow(() -> Bar.io(5, 256, NOTHING));
        assertDoesNotThrow(() -> Bar.memory32(5, 16, NOTHING));
    }

    @Test
    void wideBarNeedsTheNextIndexToo() {
        assertThrows(IllegalArgumentException.class, () -> Bar.memory64(5, 4096, NOTHING));
        assertThrows(IllegalArgumentException.class, () -> Bar.memory32(6, 4096, NOTHING));
        assertThrows(IllegalArgumentException.class, () -> Bar.io(-1, 8, NOTHING));
        assertEquals(Bar.Kind.MEMORY_64, Bar.memory64(4, 4096, NOTHING).kind());
    }

    @Test
    void capabilityMaskMustFitItsBody() {
        assertThrows(IllegalArgumentException.class, () -> new Capability(9, new byte[3], new byte[2]));
        assertThrows(IllegalArgumentException.class, () -> Capability.readOnly(9, new byte[191]));
        assertEquals(4, Capability.readOnly(9, new byte[4]).writableMask().length);
    }
}
