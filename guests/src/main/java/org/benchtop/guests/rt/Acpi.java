package org.benchtop.guests.rt;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;

/** The little of ACPI that guests need: how many CPUs there are (ACPI 6.5, 5.2.5, 5.2.7, 5.2.12). */
final class Acpi {
    private static final long RSDP_SIGNATURE = 0x2052_5450_2044_5352L;
    private static final int MADT_SIGNATURE = 0x4349_5041;
    private static final int PVH_MAGIC = 0x336e_c578;

    private Acpi() {}

    /** Number of usable CPUs that the MADT lists, or 0 if there is none. */
    static int cpus() {
        long madt = madt();
        if (madt == 0) {
            return 0;
        }
        long end = madt + Guest.load32Unsigned(madt + 4);
        int count = 0;
        long entry = madt + 44;
        while (entry < end && Guest.load8(entry + 1) >= 2) {
            int type = Guest.load8(entry);
            if (type == 0 && (Guest.load32(entry + 4) & 1) != 0 || type == 9 && (Guest.load32(entry + 8) & 1) != 0) {
                count++;
            }
            entry += Guest.load8(entry + 1);
        }
        return count;
    }

    private static long madt() {
        long root = rootPointer();
        if (root == 0) {
            return 0;
        }
        boolean wide = Guest.load8(root + 15) >= 2 && Guest.load64(root + 24) != 0;
        long table = wide ? Guest.load64(root + 24) : Guest.load32Unsigned(root + 16);
        long end = table + Guest.load32Unsigned(table + 4);
        int step = wide ? 8 : 4;
        for (long entry = table + 36; entry < end; entry += step) {
            long address = wide ? Guest.load64(entry) : Guest.load32Unsigned(entry);
            if (Guest.load32(address) == MADT_SIGNATURE) {
                return address;
            }
        }
        return 0;
    }

    private static long rootPointer() {
        long startInfo = Guest.load64(GuestLayout.START_INFO);
        if (startInfo != 0 && Guest.load32(startInfo) == PVH_MAGIC && Guest.load64(startInfo + 32) != 0) {
            return Guest.load64(startInfo + 32);
        }
        for (long address = 0xe_0000; address < 0x10_0000; address += 16) {
            if (Guest.load64(address) == RSDP_SIGNATURE) {
                return address;
            }
        }
        return 0;
    }
}
