package org.benchtop.block;

import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;

/** Decides whether a request may be carried out at all. */
public final class RequestCheck {
    private RequestCheck() {}

    /** {@link BlockStatus#OK}, or how the request must end. */
    public static BlockStatus check(BlockRequest request, BlockCapabilities capabilities) {
        return switch (request) {
            case BlockRequest.Read read -> transfer(read, read.buffer(), capabilities);
            case BlockRequest.Write write ->
                capabilities.readOnly() ? BlockStatus.READ_ONLY : transfer(write, write.buffer(), capabilities);
            case BlockRequest.Flush flush -> BlockStatus.OK;
            case BlockRequest.Discard discard -> change(discard, capabilities);
            case BlockRequest.WriteZeroes zeroes -> change(zeroes, capabilities);
        };
    }

    private static BlockStatus transfer(BlockRequest request, IoVector buffer, BlockCapabilities capabilities) {
        if (!capabilities.contains(request.offsetBytes(), request.lengthBytes())
                || buffer.sizeBytes() != request.lengthBytes()) {
            return BlockStatus.OUT_OF_RANGE;
        }
        return buffer.count() > capabilities.maxSegments() || request.lengthBytes() > capabilities.maxTransferBytes()
                ? BlockStatus.UNSUPPORTED
                : BlockStatus.OK;
    }

    private static BlockStatus change(BlockRequest request, BlockCapabilities capabilities) {
        if (capabilities.readOnly()) {
            return BlockStatus.READ_ONLY;
        }
        return capabilities.contains(request.offsetBytes(), request.lengthBytes())
                ? BlockStatus.OK
                : BlockStatus.OUT_OF_RANGE;
    }
}
