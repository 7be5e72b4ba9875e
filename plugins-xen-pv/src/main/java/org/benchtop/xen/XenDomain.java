package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.xen.store.XenStore;

/** What the platform offers to backends of the same machine. Any thread. */
interface XenDomain {
    /** The tree that both sides see. */
    XenStore store();

    /** The guest's event channels. */
    EventChannels events();

    /** What the guest has granted. */
    GrantTable grants();

    /** Guest RAM. */
    GuestMemory memory();

    /** Where watches are answered. */
    EventLoop loop();

    /** The page of the console ring. */
    MemorySegment consolePage();

    /** Connects the console: its notifications go to {@code onNotify}, the result signals the guest. */
    Runnable connectConsole(Runnable onNotify);

    /**
     * Tells a backend that the guest starts anew in the same memory, as kexec does.
     *
     * @param before lets go of the guest's memory; may wait
     * @param after begins anew
     */
    void onRestart(Runnable before, Runnable after);

    /**
     * Takes the number of a disk, by its name, such as {@code xvda}; the next free one if that is empty.
     *
     * @throws org.benchtop.spi.BenchtopException if it is no such name, or taken
     */
    int claimDisk(String owner, String name);
}
