package org.benchtop.spi.pci;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PciAddressTest {
    @ParameterizedTest
    @CsvSource({"4,4,0", "1f.3,31,3", "0x1f.7,31,7", "' 2.1 ',2,1", "0,0,0"})
    void textIsParsedInHex(String text, int device, int function) {
        assertEquals(new PciAddress(device, function), PciAddress.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "20", "1.8", "1.2.3", "x", "1.", ".1", "-1", "0x", "ffffffffff"})
    void badTextIsRefusedNamingIt(String text) {
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> PciAddress.parse(text));

        assertTrue(String.valueOf(error.getMessage()).contains("PCI address"), error.toString());
    }

    @Test
    void devfnAndTextAgreeWithLspci() {
        PciAddress address = new PciAddress(0x1f, 3);

        assertEquals(0xfb, address.devfn());
        assertEquals("00:1f.3", address.toString());
    }
}
