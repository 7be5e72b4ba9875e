package org.benchtop.block.nbd;

import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.benchtop.spi.nbd.NbdProtocol;

/**
 * One request of the protocol. Reused: it belongs to its owner, then from {@link NbdConnection#submit} to {@link
 * Owner#done} to the connection.
 */
final class NbdOp {
    /** Whom an operation goes back to. */
    interface Owner {
        /** The operation is done. Called on any thread. */
        void done(NbdOp op);
    }

    final Owner owner;
    /** The data of a read or write. */
    final IoVector data = new IoVector();

    int command;
    int flags;
    long offsetBytes;
    long lengthBytes;
    BlockStatus status = BlockStatus.OK;

    // The connection's.
    long cookie;
    boolean sent;
    boolean failed;
    long receivedBytes;
    long touchedNanos;
    /** For a flush: what it makes durable. */
    long acknowledgedBefore;

    NbdOp(Owner owner) {
        this.owner = owner;
    }

    void set(int newCommand, int newFlags, long offset, long length) {
        command = newCommand;
        flags = newFlags;
        offsetBytes = offset;
        lengthBytes = length;
        status = BlockStatus.OK;
        sent = false;
        failed = false;
        receivedBytes = 0;
    }

    boolean reads() {
        return command == NbdProtocol.NBD_CMD_READ;
    }

    boolean changes() {
        return command == NbdProtocol.NBD_CMD_WRITE
                || command == NbdProtocol.NBD_CMD_TRIM
                || command == NbdProtocol.NBD_CMD_WRITE_ZEROES;
    }
}
