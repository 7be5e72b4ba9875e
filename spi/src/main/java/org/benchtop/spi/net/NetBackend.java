package org.benchtop.spi.net;

import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.IoVector;

/** The host side of a network card. One front end at a time. */
public interface NetBackend extends AutoCloseable {
    /** Connects the card; its methods are then called on {@code loop}. */
    void connect(NetFrontend frontend, EventLoop loop);

    /** Disconnects the card. */
    void disconnect();

    /**
     * Sends one frame (with the negotiated virtio-net header in front where there is one). Called on the loop; the
     * buffers are free when it returns. False when the backend is busy: retry on {@link NetFrontend#sendable}.
     */
    boolean send(IoVector frame);

    /** The card has room again after {@link NetFrontend#receive} refused a frame. */
    void resumeReceive();

    /** What the backend can take off the guest. */
    NetOffloads offloads();

    /** One line for people. */
    String describe();

    @Override
    void close();
}
