package org.benchtop.spi.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

final class BlockRequestTest {
    @Test
    void lengthOfATransferIsThatOfItsBuffer() {
        BlockRequest.Write write = new BlockRequest.Write();
        write.buffer().add(Arena.ofAuto().allocate(1024), 0, 1024);

        write.at(4096, true);

        assertEquals(4096, write.offsetBytes());
        assertEquals(1024, write.lengthBytes());
        assertTrue(write.durable());
        assertFalse(write.at(0).durable());
        assertEquals("Write[offset=0 length=1024]", write.toString());
    }

    @Test
    void refilledRequestShowsTheNewRange() {
        BlockRequest.WriteZeroes zeroes = new BlockRequest.WriteZeroes().at(512, 1024, true);

        zeroes.at(0, 2048, false);

        assertEquals(2048, zeroes.lengthBytes());
        assertFalse(zeroes.mayUnmap());
        assertEquals(0, new BlockRequest.Flush().lengthBytes());
    }

    @Test
    void cacheModesSayWhatTheyPromise() {
        assertTrue(CacheMode.NONE.direct() && CacheMode.NONE.writeCache());
        assertTrue(CacheMode.DIRECTSYNC.direct() && !CacheMode.DIRECTSYNC.writeCache());
        assertTrue(!CacheMode.WRITETHROUGH.direct() && !CacheMode.WRITETHROUGH.writeCache());
        assertTrue(CacheMode.WRITEBACK.writeCache() && CacheMode.UNSAFE.writeCache());
    }
}
