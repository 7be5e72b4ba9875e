package org.benchtop.ide.drive;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.benchtop.ide.DriveSlots;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.BlockCompletion;
import org.benchtop.spi.block.BlockQueue;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;
import org.jspecify.annotations.Nullable;

/**
 * Carries the transfers of one device to its backend, on its event loop, without the controller's lock.
 *
 * <p>Everything runs on the loop except {@link #kick}, {@link #retry}, {@link #awaitQuiet} and {@link #close}. Allocates nothing once
 * warm.
 */
public final class DriveQueue implements AutoCloseable {
    private static final Runnable NOTHING = () -> {};
    private static final long RECHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final AtaDevice device;
    private final EventLoop loop;
    private final ReentrantLock lock;
    private final Condition quiet;
    private final GuestMemory memory;
    private final Owner owner;
    private final BlockQueue backend;
    private final ErrorHandling errorHandling;
    private final BlockCapabilities capabilities;
    private final Doorbell doorbell;
    private final Runnable turn = this::turn;
    private final Counter reads;
    private final Counter writes;
    private final Counter errors;
    private @Nullable Flight[] flights = {};
    private boolean inTurn;

    /** The controller. */
    public interface Owner {
        /** A transfer of the device has ended; called with the lock held. */
        void changed(AtaDevice device);

        /** Brings interrupt lines to where {@link #changed} wants them; called without the lock. */
        void publish();
    }

    /** A queue; {@code lock} is the controller's, which guards the device. */
    public DriveQueue(
            AtaDevice device,
            DriveSlots.Medium medium,
            EventLoop loop,
            ReentrantLock lock,
            GuestMemory memory,
            Owner owner,
            Stats stats) {
        this.device = device;
        this.loop = loop;
        this.lock = lock;
        this.quiet = lock.newCondition();
        this.memory = memory;
        this.owner = owner;
        this.capabilities = medium.backend().capabilities();
        this.backend = medium.backend().openQueue(loop);
        this.errorHandling = medium.errors();
        this.doorbell = loop.doorbell(device.id(), turn);
        this.reads = stats.counter("reads");
        this.writes = stats.counter("writes");
        this.errors = stats.counter("errors");
    }

    /**
     * The device has something for the backend, because of an access of the calling vCPU: it is started on this thread
     * where the loop lends its turn. Any thread that holds no lock.
     */
    public void kick() {
        if (!loop.tryRun(turn)) {
            doorbell.ring();
        }
    }

    /** Tries again what has stopped the machine. Any thread that holds no lock. */
    public void retry() {
        boolean any;
        lock.lock();
        try {
            device.retryHeld();
            any = device.hasTransfer();
        } finally {
            lock.unlock();
        }
        if (any) {
            doorbell.ring();
        }
    }

    private void turn() {
        if (inTurn) {
            return;
        }
        inTurn = true;
        try {
            for (Transfer next = take(); next != null; next = take()) {
                flight(next).run();
            }
        } finally {
            inTurn = false;
        }
        backend.kick();
    }

    private @Nullable Transfer take() {
        lock.lock();
        try {
            return device.takeTransfer();
        } finally {
            lock.unlock();
        }
    }

    private Flight flight(Transfer transfer) {
        int index = transfer.tag() + 1;
        if (index >= flights.length) {
            flights = java.util.Arrays.copyOf(flights, index == 0 ? 1 : AtaDrive.QUEUE_DEPTH + 1);
        }
        Flight flight = flights[index];
        if (flight == null) {
            flight = new Flight(transfer);
            flights[index] = flight;
        }
        return flight;
    }

    private boolean resetting() {
        lock.lock();
        try {
            return device.resetting();
        } finally {
            lock.unlock();
        }
    }

    /** One transfer on its way, in one part after another. */
    private final class Flight implements BlockCompletion {
        private final Transfer transfer;
        private boolean submitting;
        private boolean completedInline;
        private BlockStatus status = BlockStatus.OK;

        Flight(Transfer transfer) {
            this.transfer = transfer;
        }

        /** Submits parts until one does not complete at once. */
        void run() {
            do {
                BlockRequest request = transfer.next(
                        device.sectorBytes(), capabilities.maxTransferBytes(), capabilities.maxSegments());
                if (request == null) {
                    errors.increment();
                    finish(BlockStatus.IO_ERROR);
                    return;
                }
                completedInline = false;
                submitting = true;
                backend.submit(request, this);
                submitting = false;
                if (!completedInline) {
                    return;
                }
            } while (goesOn());
        }

        @Override
        public void completed(BlockRequest request, BlockStatus result) {
            status = result;
            if (result == BlockStatus.OK) {
                transfer.advance(request);
            }
            if (submitting) {
                // From within submit: the loop in run() goes on, instead of a recursion as deep as there are parts.
                completedInline = true;
                return;
            }
            if (goesOn()) {
                run();
                backend.kick();
            } else {
                turn();
            }
        }

        /** Whether there is another part to do; ends the transfer otherwise. */
        private boolean goesOn() {
            if (status == BlockStatus.OK && !transfer.complete() && !resetting()) {
                return true;
            }
            if (status == BlockStatus.OK) {
                finish(status);
            } else {
                failed();
            }
            return false;
        }

        private void failed() {
            errors.increment();
            switch (errorHandling.onError(transfer.reads(), status)) {
                case REPORT -> finish(status);
                case IGNORE -> finish(BlockStatus.OK);
                case STOP -> {
                    String request = transfer.toString();
                    if (hold()) {
                        errorHandling.stop(request, status);
                    } else {
                        finish(status);
                    }
                }
            }
        }

        /** Keeps the transfer for {@link #retry}; false if a reset ends it anyway. */
        private boolean hold() {
            lock.lock();
            try {
                if (!device.hold(transfer)) {
                    return false;
                }
                if (device.quiet()) {
                    quiet.signalAll();
                }
                return true;
            } finally {
                lock.unlock();
            }
        }

        private void finish(BlockStatus result) {
            if (result == BlockStatus.OK && transfer.writes()) {
                writes.increment();
            } else if (result == BlockStatus.OK && transfer.reads()) {
                reads.increment();
            }
            if (transfer.writesGuestMemory()) {
                memory.written(transfer.memory());
            }
            lock.lock();
            try {
                device.transferDone(transfer, result);
                owner.changed(device);
                if (device.quiet()) {
                    quiet.signalAll();
                }
            } finally {
                lock.unlock();
            }
            owner.publish();
        }
    }

    /**
     * Waits until the device wants nothing more of the backend and nothing is in flight. Any thread that holds no lock;
     * returns early on the event loop, which must not wait.
     */
    public void awaitQuiet() {
        boolean interrupted = false;
        while (!isQuiet()) {
            if (loop.inLoop()) {
                break;
            }
            doorbell.ring();
            // Without requests in flight the wait ends here. It also moves loops on that have no thread of their own.
            loop.call(NOTHING);
            interrupted |= awaitChange();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isQuiet() {
        lock.lock();
        try {
            return device.quiet();
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitChange() {
        lock.lock();
        try {
            if (!device.quiet()) {
                long unused = quiet.awaitNanos(RECHECK_NANOS);
            }
            return false;
        } catch (InterruptedException e) {
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Drops what is not in flight, waits for the rest and frees the queue. Any thread that holds no lock. */
    @Override
    public void close() {
        lock.lock();
        try {
            device.reset(false);
        } finally {
            lock.unlock();
        }
        awaitQuiet();
        doorbell.close();
        backend.close();
    }
}
