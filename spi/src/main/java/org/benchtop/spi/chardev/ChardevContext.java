package org.benchtop.spi.chardev;

import org.benchtop.spi.CreateContext;
import org.benchtop.spi.event.EventLoop;

/** What a character backend is created with. */
public interface ChardevContext extends CreateContext {
    /** The machine's default loop, for sources of input. */
    EventLoop eventLoop();

    /** The user asked to stop the machine from the keyboard (Ctrl-A x). */
    void requestStop();

    /** The user asked to resume a paused machine from the keyboard (Ctrl-A r). */
    default void requestResume() {}
}
