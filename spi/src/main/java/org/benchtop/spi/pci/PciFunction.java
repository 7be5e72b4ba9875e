package org.benchtop.spi.pci;

import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.irq.IrqLine;

/** A function on the bus, as its device sees it. Thread-safe. */
public interface PciFunction extends AutoCloseable {
    /** Where it sits. */
    PciAddress address();

    /** Reads configuration space without hooks. */
    long config(int offset, int size);

    /** Writes configuration space regardless of what the guest may write, without hooks. */
    void config(int offset, int size, long value);

    /** Makes bits writable for the guest, beyond the standard header: for vendor-specific registers. */
    void writable(int offset, int size, long mask);

    /** Whether the guest has enabled bus mastering: a device must not touch RAM otherwise. */
    boolean busMaster();

    /** The INTx line: respects the disable bit and mirrors the status bit. */
    IrqLine intx();

    /** MSI-X; does nothing on functions without. */
    MessageInterrupts msix();

    /** MSI; does nothing on functions without. */
    MessageInterrupts msi();

    /** The guest physical address or port of a BAR, or -1 while it is not decoded. */
    long barAddress(int index);

    /** The offset of the capability that was added {@code index}-th with {@link PciFunctionSpec#capability}. */
    int capabilityOffset(int index);

    /** Rings a doorbell for writes inside a BAR; follows the BAR as the guest moves it. */
    IoEvent ioEvent(int bar, long offset, IoEventMatch match, Doorbell doorbell);

    /** The header as after power-on: BARs, command, interrupt line, MSI and MSI-X are cleared. */
    void reset();

    /** Saves header, BARs, MSI and MSI-X. */
    org.benchtop.spi.state.SavedState saveState();

    /** Restores header, BARs, MSI and MSI-X. */
    void restoreState(org.benchtop.spi.state.SavedState state);

    /** Takes the function off the bus. */
    @Override
    void close();
}
