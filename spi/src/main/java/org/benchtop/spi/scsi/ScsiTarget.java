package org.benchtop.spi.scsi;

import java.util.List;
import java.util.OptionalLong;
import org.benchtop.spi.event.EventLoop;

/** A target on a bus, with its logical units. It answers for logical units that do not exist, too. Any thread. */
public interface ScsiTarget {
    /**
     * Opens a way to the target for commands of one event loop. An adapter opens one for each loop that it uses, when the
     * target is attached: not from a handler of the loop, where a drive may be unable to open what it needs.
     */
    ScsiPort open(EventLoop loop);

    /** The numbers of the logical units, ascending; at least one. */
    List<Integer> luns();

    /** The capacity of a logical unit in bytes, for adapters that list what is behind them; empty if it has none now. */
    default OptionalLong sizeBytes(int lun) {
        return OptionalLong.empty();
    }
}
