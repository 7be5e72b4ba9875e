package org.benchtop.virtio.queue;

/**
 * What a driver did wrong with a queue.
 *
 * @param kind which rule it broke
 * @param value the offending value: an index, an address or a length
 */
public record QueueError(Kind kind, long value) {
    /** The rules. */
    public enum Kind {
        /** The queue size is not a power of two or too large. */
        BAD_QUEUE_SIZE("queue size is no power of two or too large"),
        /** A ring is not aligned (2.7). */
        RING_MISALIGNED("ring is not aligned"),
        /** A ring does not lie in RAM. */
        RING_NOT_RAM("ring is not in RAM"),
        /** The available index is more than a queue size ahead. */
        INDEX_JUMP("available index jumped"),
        /** More chains are in flight than the queue has entries. */
        TOO_MANY_IN_FLIGHT("more chains in flight than the queue has entries"),
        /** An available entry names no descriptor. */
        HEAD_OUT_OF_RANGE("head is outside the descriptor table"),
        /** A next field names no descriptor. */
        NEXT_OUT_OF_RANGE("next is outside the descriptor table"),
        /** A chain comes back to itself. */
        LOOP("descriptor chain loops"),
        /** A chain has more descriptors than the queue size allows (2.7.5.3.1). */
        CHAIN_TOO_LONG("descriptor chain is longer than the queue"),
        /** A chain has more than 2^32 bytes (2.7.5.2). */
        CHAIN_TOO_LARGE("descriptor chain has more than 2^32 bytes"),
        /** A buffer does not lie in RAM. */
        BUFFER_NOT_RAM("buffer is not in RAM"),
        /** A buffer is empty. */
        ZERO_LENGTH("buffer is empty"),
        /** A device-readable buffer follows a device-writable one (2.7.4.2). */
        READABLE_AFTER_WRITABLE("readable buffer follows a writable one"),
        /** An indirect descriptor without VIRTIO_F_INDIRECT_DESC. */
        INDIRECT_NOT_NEGOTIATED("indirect descriptor without the feature"),
        /** An indirect descriptor inside an indirect table. */
        INDIRECT_NESTED("indirect table inside an indirect table"),
        /** An indirect descriptor with VIRTQ_DESC_F_NEXT. */
        INDIRECT_WITH_NEXT("indirect descriptor with a next one"),
        /** An indirect table that is empty, too large, or no whole number of descriptors. */
        INDIRECT_BAD_SIZE("indirect table has a bad size"),
        /** An indirect table that does not lie in RAM. */
        INDIRECT_NOT_RAM("indirect table is not in RAM"),
        /** A chain without room for what its device always needs: a header to read or a status to write. */
        MALFORMED_REQUEST("request has no room for its header or status");

        private final String text;

        Kind(String text) {
            this.text = text;
        }
    }

    /** One line: the rule and the value. */
    public String message() {
        return kind.text + ": value=0x" + Long.toHexString(value);
    }
}
