package org.benchtop.testkit;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.irq.Msi;

/** Interrupt controllers that only remember: the level and rising edges of each GSI, and each message. */
public final class FakeIrqChip implements IrqChip {
    private static final int GSIS = 256;

    private final int[] assertedSources = new int[GSIS];
    private final long[] raises = new long[GSIS];
    private final List<Message> messages = new ArrayList<>();
    private long messageCount;
    private int openMsis;
    private boolean supportsMsi = true;
    private boolean recordMessages = true;

    /**
     * One message-signalled interrupt.
     *
     * @param address the message address
     * @param data the message data
     */
    public record Message(long address, int data) {
        /** The interrupt vector of an x86 message. */
        public int vector() {
            return data & 0xff;
        }
    }

    @Override
    public IrqLine line(int gsi) {
        if (gsi < 0 || gsi >= GSIS) {
            throw new IllegalArgumentException("gsi " + gsi + " must be 0..." + (GSIS - 1));
        }
        return new Source(gsi);
    }

    @Override
    public synchronized Msi newMsi() {
        openMsis++;
        return new FakeMsi();
    }

    @Override
    public boolean supportsMsi() {
        return supportsMsi;
    }

    /** Chooses whether messages are supported; they are unless changed. */
    public void supportsMsi(boolean supported) {
        supportsMsi = supported;
    }

    /** Whether any source asserts a GSI. */
    public synchronized boolean asserted(int gsi) {
        return assertedSources[gsi] > 0;
    }

    /** The number of rising edges of a GSI. */
    public synchronized long raises(int gsi) {
        return raises[gsi];
    }

    /** All messages so far, oldest first. */
    public synchronized List<Message> messages() {
        return List.copyOf(messages);
    }

    /** All messages so far, oldest first, and forgets them. */
    public synchronized List<Message> drainMessages() {
        List<Message> drained = List.copyOf(messages);
        messages.clear();
        return drained;
    }

    /** The number of messages ever sent. */
    public synchronized long messageCount() {
        return messageCount;
    }

    /** Switches the record of messages on (the default) or off, for allocation tests; they are still counted. */
    public synchronized void recordMessages(boolean enabled) {
        recordMessages = enabled;
    }

    /** The number of routes that are not closed. */
    public synchronized int openMsis() {
        return openMsis;
    }

    private final class Source implements IrqLine {
        private final int gsi;
        private boolean asserted;

        Source(int gsi) {
            this.gsi = gsi;
        }

        @Override
        public void set(boolean level) {
            synchronized (FakeIrqChip.this) {
                if (level == asserted) {
                    return;
                }
                asserted = level;
                if (level && assertedSources[gsi]++ == 0) {
                    raises[gsi]++;
                } else if (!level) {
                    assertedSources[gsi]--;
                }
            }
        }
    }

    private final class FakeMsi implements Msi {
        private long address;
        private int data;
        private boolean closed;

        @Override
        public void target(long newAddress, int newData) {
            synchronized (FakeIrqChip.this) {
                address = newAddress;
                data = newData;
            }
        }

        @Override
        public void signal() {
            synchronized (FakeIrqChip.this) {
                if (closed) {
                    throw new AssertionError("signal on a closed Msi");
                }
                messageCount++;
                if (recordMessages) {
                    messages.add(new Message(address, data));
                }
            }
        }

        @Override
        public void close() {
            synchronized (FakeIrqChip.this) {
                if (!closed) {
                    closed = true;
                    openMsis--;
                }
            }
        }
    }
}
