package org.benchtop.ide.drive;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.memory.IoVector;
import org.jspecify.annotations.Nullable;

/**
 * A device on an ATA interface: registers, a buffer, and a command that moves through its phases (ATA8-APT). It knows no
 * bus: a controller writes its registers, moves its data and carries its {@link Transfer}s to a backend.
 *
 * <p>Not thread-safe: the controller guards it with a lock. After every call the controller looks at {@link #phase},
 * {@link #takeInterrupt} and {@link #hasTransfer}.
 */
public abstract sealed class AtaDevice permits AtaDrive, AtapiDrive {
    /** The most that one programmed transfer asks of the backend at a time. */
    public static final int BUFFER_BYTES = 128 << 10;

    /** The command that resets a packet device. */
    public static final int DEVICE_RESET = 0x08;

    /** The command that both devices of a channel execute. */
    public static final int EXECUTE_DEVICE_DIAGNOSTIC = 0x90;

    /** What a command is waiting for. */
    public enum Phase {
        /** No command. */
        IDLE,
        /** The host reads a block from the data register. */
        PIO_IN,
        /** The host writes a block to the data register. */
        PIO_OUT,
        /** The host takes data by DMA. */
        DMA_IN,
        /** The host gives data by DMA. */
        DMA_OUT,
        /** The backend. */
        WORKING,
    }

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final String id;
    private final TaskFile registers = new TaskFile();
    private final MemorySegment buffer = Arena.ofAuto().allocate(BUFFER_BYTES, 4096);
    private final Transfer transfer = new Transfer(-1);
    private final ArrayDeque<Transfer> wanted = new ArrayDeque<>();
    /** What the host could not do and is to try again when the machine goes on. */
    private final ArrayDeque<Transfer> held = new ArrayDeque<>();

    private Phase phase = Phase.IDLE;
    private boolean interrupt;
    private int inFlight;
    private int tagsInFlight;
    private boolean resetPending;
    private boolean resetPowersOn;

    /** The data of the command: from or to the medium, or the buffer only. */
    private boolean media;

    private boolean out;
    private boolean dma;
    private boolean durable;
    /** The transfer fills the buffer for the device's own use. */
    private boolean filling;

    private long mediaOffset;
    /** Bytes that the host has not moved yet. */
    private long left;

    private int unitBytes = 1;
    private int blockBytes = 1;
    /** In the buffer: the next byte, the end of the block on offer, the end of what is there. */
    private int position;

    private int blockEnd;
    private int limit;

    AtaDevice(String id) {
        this.id = id;
    }

    /** The name for messages. */
    public final String id() {
        return id;
    }

    /** The command block registers. */
    public final TaskFile registers() {
        return registers;
    }

    /** What the command is waiting for. */
    public final Phase phase() {
        return phase;
    }

    /** Whether the device has asked for an interrupt since the last call. */
    public final boolean takeInterrupt() {
        boolean taken = interrupt;
        interrupt = false;
        return taken;
    }

    /** Whether the device answers as a packet device. */
    public abstract boolean packet();

    /** The smallest piece of the medium that may be transferred. */
    public abstract int sectorBytes();

    // Commands.

    /** A write of the command register; ignored while the device is busy, except a reset of a packet device. */
    public final void command(int command) {
        if (registers.busy() && !(command == DEVICE_RESET && packet())) {
            return;
        }
        interrupt = false;
        execute(command & 0xff);
    }

    abstract void execute(int command);

    /**
     * Starts a reset, which ends when no request is in flight any more; the device is busy until then.
     *
     * @param powerOn whether everything is as after power-on; otherwise settings survive as in a soft reset
     */
    public final void reset(boolean powerOn) {
        drop();
        interrupt = false;
        filling = false;
        phase = Phase.IDLE;
        left = 0;
        if (inFlight > 0) {
            resetPowersOn = powerOn || resetPending && resetPowersOn;
            resetPending = true;
            registers.status = TaskFile.BSY;
            phase = Phase.WORKING;
            return;
        }
        finishReset(powerOn);
    }

    private void finishReset(boolean powerOn) {
        resetPending = false;
        resetPowersOn = false;
        phase = Phase.IDLE;
        position = 0;
        blockEnd = 0;
        limit = 0;
        resetDone(powerOn);
    }

    /** Shows the signature and forgets what a reset forgets. */
    abstract void resetDone(boolean powerOn);

    // Transfers.

    /** Whether something waits for the backend. */
    public final boolean hasTransfer() {
        return !wanted.isEmpty();
    }

    /** The next thing for the backend to do, which is in flight from now on; null if there is none. */
    public final @Nullable Transfer takeTransfer() {
        Transfer next = wanted.poll();
        if (next != null) {
            inFlight++;
            tagsInFlight |= next.tag() < 0 ? 0 : 1 << next.tag();
        }
        return next;
    }

    /** Whether nothing is in flight and nothing waits for the backend. */
    public final boolean quiet() {
        return inFlight == 0 && wanted.isEmpty();
    }

    /** Whether a reset waits for what is in flight, which should not go on longer than needed. */
    public final boolean resetting() {
        return resetPending;
    }

    /** Drops what is not in flight yet, for a device that is going away. */
    public final void drop() {
        wanted.clear();
        held.clear();
    }

    /** Whether the transfer of a queued command, maybe of one that has ended with an error, is in flight. */
    final boolean inFlight(int tag) {
        return (tagsInFlight >>> tag & 1) != 0;
    }

    final void want(Transfer next) {
        wanted.add(next);
    }

    /** The transfer of the current command. */
    final Transfer transfer() {
        return transfer;
    }

    final void busy() {
        phase = Phase.WORKING;
        registers.status = TaskFile.BSY;
    }

    /**
     * The backend has failed a transfer that is to be tried again, from where it has come to, after {@link #retryHeld}.
     * The host of the drive sees nothing of it: the command goes on. Returns whether it is kept: a reset forgets it.
     */
    public final boolean hold(Transfer failed) {
        if (resetPending) {
            return false;
        }
        inFlight--;
        tagsInFlight &= failed.tag() < 0 ? -1 : ~(1 << failed.tag());
        held.add(failed);
        return true;
    }

    /** Wants again what was held. */
    public final void retryHeld() {
        wanted.addAll(held);
        held.clear();
    }

    /** The backend is done with a transfer, or its first part that failed. */
    public final void transferDone(Transfer done, BlockStatus status) {
        inFlight--;
        tagsInFlight &= done.tag() < 0 ? -1 : ~(1 << done.tag());
        if (resetPending) {
            if (inFlight == 0) {
                finishReset(resetPowersOn);
            }
            return;
        }
        if (done.tag() >= 0) {
            queuedDone(done, status);
        } else if (!done.movesData()) {
            actionDone(status);
        } else if (status != BlockStatus.OK) {
            long failedAt = mediaOffset + done.doneBytes();
            endData();
            mediaFailed(failedAt, done.writes(), status);
        } else if (filling) {
            filling = false;
            bufferFilled();
        } else if (dma) {
            mediaOffset += done.lengthBytes();
            left -= done.lengthBytes();
            if (left > 0) {
                awaitDma();
            } else {
                endData();
                finished(false);
            }
        } else if (out) {
            mediaOffset += limit;
            left -= limit;
            if (left > 0) {
                fillAgain();
                interrupt();
            } else {
                endData();
                finished(false);
            }
        } else {
            position = 0;
            mediaOffset += limit;
            offerBlock();
            interrupt();
        }
    }

    /** What {@link #fillBuffer} has asked for is in the buffer. */
    void bufferFilled() {}

    /** A queued command has ended. */
    abstract void queuedDone(Transfer done, BlockStatus status);

    /** A flush or discard has ended. */
    abstract void actionDone(BlockStatus status);

    /** Reading or writing the medium has failed at a byte offset. */
    abstract void mediaFailed(long offset, boolean write, BlockStatus status);

    /** All data has been moved. */
    abstract void finished(boolean readByHost);

    /** The buffer holds what the host has written. */
    abstract void received();

    /** A block of programmed I/O is on offer; packet devices say its length. */
    abstract void blockOffered(boolean toDevice, int bytes);

    final void interrupt() {
        interrupt = true;
    }

    /** The command has no more to do on the backend. */
    final void endAction() {
        endData();
    }

    /** Reads from the medium into parts of the buffer that {@code transfer().memory()} names. */
    final void fillBuffer(long offset) {
        begin(true, false, false, 0, 1);
        mediaOffset = offset;
        unitBytes = sectorBytes();
        filling = true;
        busy();
        transfer.read(offset, transfer.memory().sizeBytes(), false);
        want(transfer);
    }

    private void endData() {
        filling = false;
        phase = Phase.IDLE;
        left = 0;
        position = 0;
        blockEnd = 0;
        limit = 0;
    }

    // Data phases.

    /** The device's buffer. */
    final MemorySegment buffer() {
        return buffer;
    }

    /** Sends the first bytes of the buffer to the host. */
    final void sendBuffer(int bytes, int block, boolean byDma) {
        begin(false, false, byDma, bytes, block);
        limit = bytes;
        if (bytes == 0) {
            endData();
            finished(false);
        } else if (byDma) {
            awaitDma();
        } else {
            offerBlock();
            interrupt();
        }
    }

    /** Lets the host fill the buffer; {@link #received} follows. */
    final void receiveBuffer(int bytes, int block, boolean byDma, boolean firstInterrupt) {
        begin(false, true, byDma, bytes, block);
        limit = bytes;
        if (byDma) {
            awaitDma();
        } else {
            offerBlock();
            if (firstInterrupt) {
                interrupt();
            }
        }
    }

    /** Sends a range of the medium to the host. */
    final void readMedia(long offset, long bytes, int block, boolean byDma) {
        begin(true, false, byDma, bytes, block);
        mediaOffset = offset;
        unitBytes = sectorBytes();
        if (byDma) {
            awaitDma();
        } else {
            fetch();
        }
    }

    /** Lets the host write a range of the medium. */
    final void writeMedia(long offset, long bytes, int block, boolean byDma, boolean isDurable) {
        begin(true, true, byDma, bytes, block);
        mediaOffset = offset;
        unitBytes = sectorBytes();
        durable = isDurable;
        if (byDma) {
            awaitDma();
        } else {
            fillAgain();
        }
    }

    private void begin(boolean onMedia, boolean toDevice, boolean byDma, long bytes, int block) {
        media = onMedia;
        out = toDevice;
        dma = byDma;
        left = bytes;
        blockBytes = block;
        position = 0;
        blockEnd = 0;
        limit = 0;
    }

    private void awaitDma() {
        phase = out ? Phase.DMA_OUT : Phase.DMA_IN;
        registers.status = TaskFile.DRDY | TaskFile.DSC | TaskFile.DRQ;
    }

    private void fetch() {
        limit = (int) Math.min(left, BUFFER_BYTES);
        busy();
        transfer.memory().clear();
        transfer.memory().add(buffer, 0, limit);
        transfer.read(mediaOffset, limit, false);
        want(transfer);
    }

    private void fillAgain() {
        position = 0;
        limit = (int) Math.min(left, BUFFER_BYTES);
        offerBlock();
    }

    private void offerBlock() {
        blockEnd = Math.min(position + blockBytes, limit);
        phase = out ? Phase.PIO_OUT : Phase.PIO_IN;
        registers.status = TaskFile.DRDY | TaskFile.DSC | TaskFile.DRQ;
        blockOffered(out, blockEnd - position);
    }

    private void blockMoved() {
        if (position < limit) {
            if (!out) {
                left -= moved();
            }
            offerBlock();
            interrupt();
            return;
        }
        if (!out) {
            left -= moved();
            if (left > 0) {
                fetch();
            } else {
                endData();
                finished(true);
            }
        } else if (media) {
            busy();
            transfer.memory().clear();
            transfer.memory().add(buffer, 0, limit);
            transfer.write(mediaOffset, limit, durable);
            want(transfer);
        } else {
            endData();
            received();
        }
    }

    private int moved() {
        return (blockEnd - 1) % blockBytes + 1;
    }

    /** A read of the data register: 1, 2 or 4 bytes; 0 outside a data-in phase. */
    public final long pioRead(int size) {
        if (phase != Phase.PIO_IN) {
            return 0;
        }
        long value = 0;
        int there = blockEnd - position;
        if (there >= size) {
            value = switch (size) {
                case 2 -> buffer.get(SHORT, position) & 0xffff;
                case 4 -> buffer.get(INT, position) & 0xffff_ffffL;
                default -> buffer.get(ValueLayout.JAVA_BYTE, position) & 0xff;
            };
            position += size;
        } else {
            for (int i = 0; position < blockEnd; i++) {
                value |= (buffer.get(ValueLayout.JAVA_BYTE, position++) & 0xffL) << 8 * i;
            }
        }
        if (position == blockEnd) {
            blockMoved();
        }
        return value;
    }

    /** A write of the data register: 1, 2 or 4 bytes; ignored outside a data-out phase. */
    public final void pioWrite(int size, long value) {
        if (phase != Phase.PIO_OUT) {
            return;
        }
        int there = blockEnd - position;
        if (there >= size) {
            switch (size) {
                case 2 -> buffer.set(SHORT, position, (short) value);
                case 4 -> buffer.set(INT, position, (int) value);
                default -> buffer.set(ValueLayout.JAVA_BYTE, position, (byte) value);
            }
            position += size;
        } else {
            for (int i = 0; position < blockEnd; i++) {
                buffer.set(ValueLayout.JAVA_BYTE, position++, (byte) (value >>> 8 * i));
            }
        }
        if (position == blockEnd) {
            blockMoved();
        }
    }

    /** The length of the block of programmed I/O on offer. */
    public final int blockLength() {
        return blockEnd - position;
    }

    /** Moves the whole block on offer between the buffer and memory that a serial controller provides. */
    public final void moveBlock(IoVector memory) {
        int bytes = (int) Math.min(blockLength(), memory.sizeBytes());
        if (out) {
            memory.copyTo(0, buffer, position, bytes);
        } else {
            memory.copyFrom(0, buffer, position, bytes);
        }
        position = blockEnd;
        blockMoved();
    }

    /** In a DMA phase: how many bytes the host has still to move. */
    public final long dmaBytes() {
        return left;
    }

    /** In a DMA phase: where to put the memory to move data from or to; fill it, then call {@link #dma}. */
    public final IoVector dmaMemory() {
        return transfer.memory();
    }

    /**
     * Moves data by DMA: as many whole sectors as {@link #dmaMemory} has room for, at most {@link #dmaBytes}.
     *
     * @return how many bytes are being moved, or have been for data that is not on the medium
     */
    public final long dma() {
        long bytes = Math.min(left, transfer.memory().sizeBytes());
        if (media) {
            bytes = bytes / unitBytes * unitBytes;
            if (bytes == 0) {
                return 0;
            }
            busy();
            if (out) {
                transfer.write(mediaOffset, bytes, durable);
            } else {
                transfer.read(mediaOffset, bytes, true);
            }
            want(transfer);
            return bytes;
        }
        if (out) {
            transfer.memory().copyTo(0, buffer, position, bytes);
        } else {
            transfer.memory().copyFrom(0, buffer, position, bytes);
        }
        position += (int) bytes;
        left -= bytes;
        if (left == 0) {
            boolean toDevice = out;
            endData();
            if (toDevice) {
                received();
            } else {
                finished(false);
            }
        }
        return bytes;
    }

    /** The bus has failed in the middle of a DMA phase: the command ends with an error. */
    public final void dmaFailed() {
        if (phase == Phase.DMA_IN || phase == Phase.DMA_OUT) {
            endData();
            busFailed();
        }
    }

    abstract void busFailed();

    // State.

    /**
     * Saved state of the interface.
     *
     * @param registers command block
     * @param phase what a command waits for
     * @param interrupt an interrupt that the controller has not taken
     * @param media see the fields of the same names
     */
    public record State(
            TaskFile.State registers,
            Phase phase,
            boolean interrupt,
            boolean media,
            boolean out,
            boolean dma,
            boolean durable,
            long mediaOffset,
            long left,
            int unitBytes,
            int blockBytes,
            int position,
            int blockEnd,
            byte[] buffer,
            Record drive) {}

    /** The state; nothing is in flight. */
    public final State save() {
        if (!held.isEmpty()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    id + ": a request that stopped the machine waits (" + held.getFirst()
                            + "): resume or reset before saving");
        }
        byte[] content = new byte[limit];
        MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, content, 0, limit);
        return new State(
                registers.save(),
                phase,
                interrupt,
                media,
                out,
                dma,
                durable,
                mediaOffset,
                left,
                unitBytes,
                blockBytes,
                position,
                blockEnd,
                content,
                saveDrive());
    }

    /** Sets the state; nothing is in flight. */
    public final void restore(State state) {
        boolean inBuffer = state.buffer.length <= BUFFER_BYTES
                && state.position >= 0
                && state.position <= state.blockEnd
                && state.blockEnd <= state.buffer.length
                && state.blockBytes > 0;
        boolean fits;
        if (state.media) {
            fits = state.mediaOffset >= 0
                    && state.left >= 0
                    && state.mediaOffset + state.left - state.buffer.length <= mediumBytes()
                    && state.unitBytes == sectorBytes();
        } else {
            fits = state.left >= 0 && state.left <= state.buffer.length - state.position;
        }
        if (state.phase == Phase.WORKING || !inBuffer || state.phase != Phase.IDLE && !fits) {
            throw BenchtopException.config(id + ": saved state is not one of this drive: phase " + state.phase
                    + ", offset " + state.mediaOffset + " + " + state.left + " of " + mediumBytes() + " bytes");
        }
        registers.restore(state.registers);
        phase = state.phase;
        interrupt = state.interrupt;
        media = state.media;
        out = state.out;
        dma = state.dma;
        durable = state.durable;
        mediaOffset = state.mediaOffset;
        left = state.left;
        unitBytes = Math.max(1, state.unitBytes);
        blockBytes = state.blockBytes;
        position = state.position;
        blockEnd = state.blockEnd;
        limit = state.buffer.length;
        MemorySegment.copy(state.buffer, 0, buffer, ValueLayout.JAVA_BYTE, 0, limit);
        restoreDrive(state.drive);
    }

    abstract long mediumBytes();

    abstract Record saveDrive();

    abstract void restoreDrive(Record state);
}
