package org.benchtop.spi.scsi;

import java.util.List;
import org.benchtop.spi.event.EventLoop;

/** A target on a bus, with its logical units. It answers for logical units that do not exist, too. Any thread. */
public interface ScsiTarget {
    /** Opens a way to the target for commands of one event loop. An adapter opens one for each loop that it uses. */
    ScsiPort open(EventLoop loop);

    /** The numbers of the logical units, ascending; at least one. */
    List<Integer> luns();
}
