package org.benchtop.spi.pci;

import java.util.List;

/** Bus 0 of the machine. */
public interface PciBus {
    /** Puts a function on the bus; throws when the slot is taken or the bus is full. */
    PciFunction add(PciFunctionSpec spec);

    /** All functions, by address. */
    List<PciFunction> functions();

    /**
     * Hides the functions that match from the guest, and shows those again that an earlier call has hidden: nothing of them
     * is decoded and no device seems to be there. For devices that a guest may unplug.
     */
    default void hide(java.util.function.Predicate<PciFunction> hidden) {
        throw org.benchtop.spi.BenchtopException.of(
                org.benchtop.spi.ErrorKind.UNSUPPORTED, "functions of this PCI bus cannot be hidden");
    }

    /** A guest access to configuration space (mechanism #1 or ECAM): all ones where no function is. */
    long configRead(int bus, int devfn, int offset, int size);

    /** A guest access to configuration space. */
    void configWrite(int bus, int devfn, int offset, int size, long value);

    /** Set by the bridge that routes INTx. */
    void intxRouter(IntxRouter router);

    /** Routes changed: asserted INTx lines move to their new GSI. */
    void intxRoutesChanged();

    /** Set by the host bridge: where BARs may be placed. */
    void windows(PciWindows windows);

    /** Places all BARs and enables decoding, as firmware would; for machines that boot without firmware. */
    void assignResources();

    /** Maps a function's pin to a GSI. */
    @FunctionalInterface
    interface IntxRouter {
        /**
         * The GSI of a pin, or -1 while it is not routed.
         *
         * @param device device number
         * @param pin 0 for INTA to 3 for INTD
         */
        int gsi(int device, int pin);
    }
}
