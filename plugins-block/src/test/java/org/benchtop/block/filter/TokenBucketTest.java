package org.benchtop.block.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class TokenBucketTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void rateIsKeptOverALongTime() {
        TokenBucket bucket = new TokenBucket(100, 0, 0);
        long now = 0;
        for (int i = 0; i < 1000; i++) {
            now = bucket.take(1, now);
        }
        assertEquals(9_990_000_000L, now, 1_000_000, "1000 units at 100 per second");
    }

    @Test
    void idleBucketSavesAtMostTheBurst() {
        TokenBucket bucket = new TokenBucket(10, SECOND, 0);
        long now = 1000 * SECOND;
        int atOnce = 0;
        while (bucket.take(1, now) == now) {
            atOnce++;
        }
        assertEquals(11, atOnce, "ten saved units, and the one that goes into debt");
    }

    @Test
    void oneLargeRequestGoesAtOnceAndIsPaidAfterwards() {
        TokenBucket bucket = new TokenBucket(1000, 0, 0);
        assertEquals(0, bucket.take(5000, 0));
        assertEquals(5 * SECOND, bucket.take(1, SECOND));
    }

    @Test
    void absurdDebtsDoNotOverflow() {
        TokenBucket bucket = new TokenBucket(1, 0, 0);
        for (int i = 0; i < 100; i++) {
            bucket.take(Long.MAX_VALUE, i);
        }
        assertTrue(bucket.take(1, 100) > 100);
    }
}
