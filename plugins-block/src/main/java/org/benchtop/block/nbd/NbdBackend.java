package org.benchtop.block.nbd;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.block.BlockSizes;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.nbd.NbdProtocol;
import org.benchtop.spi.time.Clock;

/**
 * A disk behind one or more connections to an NBD server. A flush reaches the server's stable storage if the server says
 * that it can flush; without that it does nothing, as the server promises nothing then.
 */
final class NbdBackend implements BlockBackend {
    private static final int MAX_SEGMENTS = 1024;
    private static final long MAX_BYTES = 1L << 60;

    private final NbdAddress address;
    private final NbdExport export;
    private final List<NbdConnection> connections;
    private final NbdDurability durability;
    private final long timeoutNanos;
    private final Clock clock;
    private final BlockCapabilities capabilities;
    private final AtomicInteger queues = new AtomicInteger();

    private NbdBackend(
            NbdAddress address,
            List<NbdConnection> connections,
            NbdDurability durability,
            long timeoutNanos,
            Clock clock,
            BlockCapabilities capabilities) {
        this.address = address;
        this.export = connections.getFirst().export();
        this.connections = List.copyOf(connections);
        this.durability = durability;
        this.timeoutNanos = timeoutNanos;
        this.clock = clock;
        this.capabilities = capabilities;
    }

    static NbdBackend of(
            NbdAddress address,
            NbdOptions options,
            List<NbdConnection> connections,
            NbdDurability durability,
            Clock clock) {
        NbdExport export = connections.getFirst().export();
        boolean readOnly = options.readOnly() || export.has(NbdProtocol.NBD_FLAG_READ_ONLY);
        int block = Math.max(512, export.minBlockBytes());
        if (block > 4096) {
            throw image(address, "has a smallest request of " + block + " bytes; at most 4096 are allowed");
        }
        if (block > 512) {
            block = 4096;
        }
        if (export.sizeBytes() == 0
                || export.sizeBytes() > MAX_BYTES
                || export.sizeBytes() % export.minBlockBytes() != 0) {
            throw image(address, "has " + export.sizeBytes() + " bytes, which make no disk");
        }
        if (!readOnly && export.sizeBytes() % block != 0) {
            throw image(
                    address,
                    "has " + export.sizeBytes() + " bytes, which is not a multiple of " + block
                            + ": it can be used with read-only: on");
        }
        long maxTransfer = Math.min(NbdExport.DEFAULT_MAX_BLOCK_BYTES, export.maxBlockBytes()) / block * block;
        if (maxTransfer < 65536) {
            throw image(address, "takes at most " + maxTransfer + " bytes in one request; 65536 are needed");
        }
        BlockCapabilities capabilities = new BlockCapabilities(
                BlockSizes.roundUp(export.sizeBytes(), block),
                block,
                block,
                readOnly,
                !readOnly && export.has(NbdProtocol.NBD_FLAG_SEND_TRIM),
                export.has(NbdProtocol.NBD_FLAG_SEND_WRITE_ZEROES),
                CacheMode.WRITEBACK,
                MAX_SEGMENTS,
                maxTransfer);
        return new NbdBackend(address, connections, durability, options.timeout(), clock, capabilities);
    }

    private static BenchtopException image(NbdAddress address, String what) {
        return BenchtopException.of(ErrorKind.IMAGE, address + " " + what);
    }

    @Override
    public BlockCapabilities capabilities() {
        return capabilities;
    }

    @Override
    public BlockQueue openQueue(EventLoop loop) {
        return new NbdQueue(this, connections.get(queues.getAndIncrement() % connections.size()), loop);
    }

    @Override
    public String describe() {
        return address
                + (connections.size() > 1 ? ", " + connections.size() + " connections" : "")
                + (capabilities.readOnly() ? ", read-only" : "");
    }

    @Override
    public void close() {
        connections.forEach(NbdConnection::close);
    }

    NbdExport export() {
        return export;
    }

    NbdDurability durability() {
        return durability;
    }

    long timeoutNanos() {
        return timeoutNanos;
    }

    Clock clock() {
        return clock;
    }
}
