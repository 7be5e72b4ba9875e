package org.benchtop.spi.block;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class BlockCapabilitiesTest {
    private static final BlockCapabilities DISK =
            new BlockCapabilities(8192, 512, 4096, false, true, true, CacheMode.NONE, 16, 1 << 20);

    @ParameterizedTest
    @CsvSource({
        "0,0,true",
        "0,8192,true",
        "8192,0,true",
        "7680,512,true",
        "7680,1024,false",
        "8192,512,false",
        "-512,512,false",
        "0,-512,false",
        "1,512,false",
        "512,511,false",
        "0,8704,false",
        "9223372036854775296,512,false",
        "512,9223372036854775296,false",
        "9223372036854775296,9223372036854775296,false",
    })
    void containsWholeBlocksInside(long offset, long length, boolean expected) {
        assertEquals(expected, DISK.contains(offset, length));
    }
}
