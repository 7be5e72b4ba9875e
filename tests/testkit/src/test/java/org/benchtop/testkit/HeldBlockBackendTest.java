package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.CacheMode;
import org.junit.jupiter.api.Test;

final class HeldBlockBackendTest implements BlockBackendContract {
    @Override
    public BlockBackend open() {
        return new HeldBlockBackend(SIZE_BYTES).automatic();
    }

    @Override
    public Optional<BlockBackend> openReadOnly() {
        return Optional.of(new HeldBlockBackend(
                        new BlockCapabilities(SIZE_BYTES, 512, 512, true, true, true, CacheMode.WRITEBACK, 16, 1 << 20))
                .automatic());
    }

    @Test
    void requestsWaitUntilTheTestCompletesThem() {
        HeldBlockBackend backend = new HeldBlockBackend(SIZE_BYTES);
        FakeEventLoop loop = new FakeEventLoop();
        var queue = backend.openQueue(loop);
        List<BlockStatus> statuses = new ArrayList<>();
        loop.call(() -> {
            queue.submit(new BlockRequest.Flush(), (request, status) -> statuses.add(status));
            queue.submit(new BlockRequest.Discard().at(0, 512), (request, status) -> statuses.add(status));
        });
        assertEquals(List.of(), statuses);

        backend.pending().get(1).fail(BlockStatus.IO_ERROR);
        backend.completeAll();

        assertEquals(List.of(BlockStatus.IO_ERROR, BlockStatus.OK), statuses);
        assertEquals(1, backend.flushes());
    }

    @Test
    void brokenRulesFailTheCaller() {
        HeldBlockBackend backend = new HeldBlockBackend(SIZE_BYTES);
        FakeEventLoop loop = new FakeEventLoop();
        var queue = backend.openQueue(loop);
        BlockRequest flush = new BlockRequest.Flush();

        assertThrows(AssertionError.class, () -> queue.submit(flush, (request, status) -> {}));
        loop.call(() -> queue.submit(flush, (request, status) -> {}));
        assertThrows(AssertionError.class, () -> loop.call(() -> queue.submit(flush, (request, status) -> {})));
        assertThrows(AssertionError.class, queue::close);
        assertThrows(AssertionError.class, backend::close);
    }

    @Test
    void crankyBackendNoticesARequestChangedInFlight() {
        HeldBlockBackend held = new HeldBlockBackend(SIZE_BYTES);
        CrankyBlockBackend backend = CrankyBlockBackend.asserting(held);
        FakeEventLoop loop = new FakeEventLoop();
        var queue = backend.openQueue(loop);
        BlockRequest.Read read = new BlockRequest.Read();
        read.buffer().add(Arena.ofAuto().allocate(512), 0, 512);
        loop.call(() -> queue.submit(read.at(0), (request, status) -> {}));

        read.at(512);

        assertThrows(AssertionError.class, () -> held.next().complete());
        assertTrue(backend.violations().getFirst().contains("changed while it was in flight"));
    }

    @Test
    void crankyBackendFailsRequestsByRule() {
        CrankyBlockBackend backend = new CrankyBlockBackend(open(), 1)
                .failing(request -> request instanceof BlockRequest.Flush ? BlockStatus.NO_SPACE : BlockStatus.OK);

        try (BlockClient client = new BlockClient(backend, new FakeEventLoop())) {
            assertEquals(BlockStatus.NO_SPACE, client.flush());
            assertEquals(BlockStatus.OK, client.tryRead(0, 512));
        }
    }
}
