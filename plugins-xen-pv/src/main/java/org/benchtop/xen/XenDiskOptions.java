package org.benchtop.xen;

import java.util.Optional;
import org.benchtop.spi.Option;

/** The options of {@code xen-disk}. */
public record XenDiskOptions(
        @Option(doc = "the drive that stores the disk", ref = Option.Ref.DRIVE)
        String drive,

        @Option(doc = "name in the guest: xvda to xvdz; the next free one unless given", value = "")
        String name,

        @Option(
                doc = "the iothread that does the disk's work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread,

        @Option(doc = "queues that the guest may use", value = "4", min = 1, max = 64)
        int queues,

        @Option(doc = "largest ring, as a power of two of pages", value = "4", min = 0, max = 4)
        int maxRingPageOrder,

        @Option(doc = "segments in one indirect request; 0 offers none", value = "256", min = 0, max = 256)
        int maxIndirectSegments,

        @Option(doc = "offer grants that stay in use", value = "on")
        boolean persistent,

        @Option(doc = "offer discard where the drive does something with it", value = "on")
        boolean discard,

        @Option(doc = "refuse writes even if the drive could take them", value = "off")
        boolean readOnly) {}
