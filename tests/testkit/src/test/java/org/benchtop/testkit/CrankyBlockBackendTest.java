package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockRequest;
import org.junit.jupiter.api.Test;

/** The wrapper itself keeps the contract, however cranky. */
final class CrankyBlockBackendTest implements BlockBackendContract {
    @Override
    public BlockBackend open() {
        return new CrankyBlockBackend(new HeldBlockBackend(SIZE_BYTES).automatic(), 42);
    }

    private static List<Integer> order(long seed) {
        CrankyBlockBackend backend = new CrankyBlockBackend(new HeldBlockBackend(SIZE_BYTES).automatic(), seed);
        FakeEventLoop loop = new FakeEventLoop();
        var queue = backend.openQueue(loop);
        List<Integer> order = new ArrayList<>();
        loop.call(() -> {
            for (int i = 0; i < 32; i++) {
                int number = i;
                queue.submit(new BlockRequest.Flush(), (request, status) -> order.add(number));
            }
        });
        loop.runPending();
        return order;
    }

    @Test
    void completionsAreReorderedByTheSeedOnly() {
        List<Integer> submitted = IntStream.range(0, 32).boxed().toList();

        assertNotEquals(submitted, order(7));
        assertEquals(submitted, order(7).stream().sorted().toList());
        assertEquals(order(7), order(7));
        assertNotEquals(order(7), order(8));
    }
}
