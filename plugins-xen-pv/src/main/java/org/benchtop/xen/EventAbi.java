package org.benchtop.xen;

/** How pending events are shown to the guest: one of the two ABIs of event_channel.h. Any thread; allocates nothing. */
interface EventAbi {
    /** Marks an event; returns whether the vCPU must be told, that is whether it should get an upcall. */
    boolean setPending(int port, int vcpu, int priority);

    /** Shows an event that is marked already once more, after its mask was cleared; result as of {@link #setPending}. */
    boolean remind(int port, int vcpu, int priority);

    /** Clears the mask of an event; returns whether it is pending and so must be shown again. */
    boolean unmask(int port);

    /** Forgets that an event is pending, when its port is closed or made. */
    void clear(int port);

    /** Whether an event is marked. */
    boolean pending(int port);

    /** Whether an event is masked. */
    boolean masked(int port);
}
