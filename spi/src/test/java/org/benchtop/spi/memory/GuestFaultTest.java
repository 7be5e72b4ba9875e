package org.benchtop.spi.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class GuestFaultTest {
    @Test
    void messageNamesTheRangeAndThereIsNoStackTrace() {
        GuestFault fault = new GuestFault(0xfee0_0000L, 16);

        assertEquals("not RAM: gpa=0xfee00000 length=0x10", fault.getMessage());
        assertEquals(0, fault.getStackTrace().length);
        assertEquals(16, fault.lengthBytes());
    }
}
