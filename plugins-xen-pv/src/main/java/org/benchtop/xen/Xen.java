package org.benchtop.xen;

import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Constants of Xen's public headers that several parts need. */
final class Xen {
    static final int PAGE_SIZE = 4096;
    static final int PAGE_SHIFT = 12;

    /** The guest's domain; backends are in domain 0. */
    static final int DOMID = 1;

    static final int DOMID_SELF = 0x7ff0;

    // Error numbers (errno.h of Xen, the same as Linux's).
    static final long EPERM = -1;
    static final long ENOENT = -2;
    static final long ESRCH = -3;
    static final long EFAULT = -14;
    static final long EEXIST = -17;
    static final long EINVAL = -22;
    static final long ENOSPC = -28;
    static final long ENOSYS = -38;
    static final long ETIME = -62;

    static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** Atomic accesses to aligned words that the guest changes at the same time. */
    static final VarHandle INTS =
            ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

    static final VarHandle LONGS =
            ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

    private Xen() {}
}
