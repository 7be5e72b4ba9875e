package org.benchtop.virtio.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** VIRTIO 1.2, 2.1 and 3.1.1. */
final class DeviceStatusTest {
    @ParameterizedTest(name = "{0}: status {1}, write {2} gives {3}")
    @CsvSource({
        "first step, 0x00, 0x01, 0x01",
        "second step, 0x01, 0x03, 0x03",
        "features, 0x03, 0x0b, 0x0b",
        "ready, 0x0b, 0x0f, 0x0f",
        "several steps in one write, 0x00, 0x0f, 0x0f",
        "the first two in one write, 0x00, 0x03, 0x03",
        "driver before acknowledge, 0x00, 0x02, 0x00",
        "features before driver, 0x01, 0x09, 0x01",
        "ready before features, 0x03, 0x07, 0x03",
        "ready at once, 0x00, 0x04, 0x00",
        "a bit is cleared, 0x0f, 0x0b, 0x0f",
        "a bit is cleared and one set, 0x03, 0x0a, 0x03",
        "the same again, 0x0f, 0x0f, 0x0f",
        "unknown bits, 0x01, 0x31, 0x01",
        "given up, 0x0b, 0x8b, 0x8b",
        "given up and nothing else, 0x0f, 0x80, 0x8f",
        "needs reset is not the driver's, 0x0f, 0x4f, 0x0f",
        "needs reset stays, 0x4f, 0x0f, 0x4f",
        "needs reset lets nothing through, 0x43, 0x4f, 0x43",
        "given up on a broken device, 0x4f, 0xcf, 0xcf"
    })
    void writeTakesWhatTheTableAllows(String what, String before, String written, String after) {
        int result = DeviceStatus.afterWrite(Integer.decode(before), Integer.decode(written), () -> true);

        assertEquals(Integer.decode(after), result, what);
    }

    @Test
    void refusedFeaturesLeaveTheBitClear() {
        assertEquals(0x03, DeviceStatus.afterWrite(0x03, 0x0b, () -> false));
    }

    @Test
    void refusedFeaturesKeepTheDriverFromBeingReady() {
        assertEquals(0x03, DeviceStatus.afterWrite(0x00, 0x0f, () -> false));
    }
}
