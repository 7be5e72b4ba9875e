package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.irq.IrqLine;

/** A global system interrupt: the OR of the levels of its sources. Thread-safe. */
final class IrqPin {
    private final int vmFd;
    /** A struct for the low level and one for the high level, never changed. */
    private final MemorySegment levels;

    private int asserting;
    private boolean closed;

    IrqPin(int vmFd, int gsi) {
        this.vmFd = vmFd;
        levels = Arena.ofAuto().allocate(2 * KvmIrqLevel.SIZE, Long.BYTES);
        KvmIrqLevel.irq(levels, 0, gsi);
        KvmIrqLevel.irq(levels, KvmIrqLevel.SIZE, gsi);
        KvmIrqLevel.level(levels, KvmIrqLevel.SIZE, 1);
    }

    IrqLine newSource() {
        return new Source();
    }

    /** Tells the kernel the level again, after its controllers have been reset. */
    synchronized void refresh() {
        if (!closed && asserting > 0) {
            drive(true);
        }
    }

    /** Later changes of level have no effect. */
    synchronized void close() {
        closed = true;
    }

    private synchronized void change(boolean asserted) {
        int before = asserting;
        asserting += asserted ? 1 : -1;
        if (!closed && (before == 0 || asserting == 0)) {
            drive(asserted);
        }
    }

    private void drive(boolean level) {
        // SAFETY: the struct is one of the two in a segment that this pin keeps alive. The call cannot fail for a pin
        // of an in-kernel controller.
        LibC.ioctl(vmFd, KvmIoctl.KVM_IRQ_LINE, levels.address() + (level ? KvmIrqLevel.SIZE : 0));
    }

    private final class Source implements IrqLine {
        private volatile boolean level;

        @Override
        public void set(boolean asserted) {
            if (level == asserted) {
                return;
            }
            synchronized (IrqPin.this) {
                if (level != asserted) {
                    level = asserted;
                    change(asserted);
                }
            }
        }
    }
}
