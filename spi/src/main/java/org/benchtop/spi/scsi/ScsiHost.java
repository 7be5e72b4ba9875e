package org.benchtop.spi.scsi;

import java.util.Optional;
import org.benchtop.spi.pci.PciAddress;

/**
 * A host bus adapter as the targets on its bus see it. It is found through {@link ScsiHosts}. Any thread, except where it
 * says otherwise; no lock is held that commands need.
 */
public interface ScsiHost {
    /** The adapter's name in YAML. */
    String id();

    /** Where the adapter is on the PCI bus, for those that are there; valid once it is attached. */
    default Optional<PciAddress> pciAddress() {
        return Optional.empty();
    }

    /** Target identifiers are below this. */
    int targets();

    /** Logical unit numbers are below this: 1 for adapters that know none. */
    int luns();

    /** Whether the adapter itself has this identifier. */
    default boolean reserved(int target) {
        return false;
    }

    /** What sits at an identifier. */
    Optional<ScsiTarget> target(int target);

    /** Puts a target at a free identifier. Further logical units of it are its own business, told by {@link #lunAdded}. */
    void attach(int target, ScsiTarget what);

    /** Takes a target away, of which no command is in flight or will be answered; closes its ports. */
    void detach(int target);

    /** A logical unit has come; also told for the first one of a target, after {@link #attach}. */
    default void lunAdded(int target, int lun) {}

    /** A logical unit has gone; also told for the last one of a target, before {@link #detach}. */
    default void lunRemoved(int target, int lun) {}

    /** A logical unit has changed, as its next unit attention will say, such as 2A/09 for its capacity. */
    default void lunChanged(int target, int lun, int asc, int ascq) {}
}
