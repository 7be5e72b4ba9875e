package org.benchtop.xen;

import java.util.OptionalInt;

/** Names of disks and their numbers (docs/man/xen-vbd-interface.7 of Xen). */
final class DiskName {
    private static final int XVD_MAJOR = 202;
    private static final int OLD_DISKS = 16;

    private DiskName() {}

    /** The index of a name: 0 for {@code xvda}. */
    static OptionalInt index(String name) {
        return name.length() == 4 && name.startsWith("xvd") && name.charAt(3) >= 'a' && name.charAt(3) <= 'z'
                ? OptionalInt.of(name.charAt(3) - 'a')
                : OptionalInt.empty();
    }

    /** The device number of an index. */
    static int number(int index) {
        return index < OLD_DISKS ? XVD_MAJOR << 8 | index << 4 : 1 << 28 | index << 8;
    }
}
