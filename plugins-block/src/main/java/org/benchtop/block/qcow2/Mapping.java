package org.benchtop.block.qcow2;

/** What a run of the disk's bytes is. Reused. */
final class Mapping {
    Qcow2Layout.Kind kind = Qcow2Layout.Kind.UNALLOCATED;
    /** How long the run is. */
    long length;
    /** Where it is in the data area, for {@code DATA}. */
    long host;
    /** The L2 entry that the run starts in. */
    long entry;

    long bitmap;
    /** Whether the cluster belongs to this place only, so that it may be written. */
    boolean copied;
}
