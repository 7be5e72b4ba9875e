package org.benchtop.spi.net;

import java.lang.foreign.MemorySegment;

/** The guest side of a network backend. Called on the loop given to {@link NetBackend#connect}. */
public interface NetFrontend {
    /** A frame for the guest; the segment is only valid during the call. False when there is no room now. */
    boolean receive(MemorySegment frame, int lengthBytes);

    /** The backend can take frames again. */
    default void sendable() {}

    /** The cable is plugged or unplugged. */
    default void linkChanged(boolean up) {}
}
