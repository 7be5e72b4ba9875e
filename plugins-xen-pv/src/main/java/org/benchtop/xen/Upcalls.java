package org.benchtop.xen;

/** Tells a vCPU that events wait. Any thread; allocates nothing. */
@FunctionalInterface
interface Upcalls {
    /** The upcall-pending flag of a vCPU has gone from 0 to 1. */
    void raise(int vcpu);
}
