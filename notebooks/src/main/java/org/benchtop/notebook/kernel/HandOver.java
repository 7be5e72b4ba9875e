package org.benchtop.notebook.kernel;

/** Hands objects from the kernel to variables of cells; public only because cells are in another class loader. */
public final class HandOver {
    private HandOver() {}

    /** Takes the object that waits under a ticket. */
    public static Object take(long ticket) {
        return Magics.handOver(ticket);
    }
}
