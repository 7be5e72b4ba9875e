package org.benchtop.guests.rt;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;

/** Hands out RAM above the image; what is taken is never given back. */
public final class Memory {
    private static final int PVH_MAGIC = 0x336e_c578;
    private static final int USABLE = 1;
    private static long next;
    private static long end;

    private Memory() {}

    /** Finds the RAM range that holds the image, before anything can overwrite the loader's map of it. */
    static void load() {
        next = Guest.symbol("image_end");
        long startInfo = Guest.load64(GuestLayout.START_INFO);
        long bootParams = Guest.load64(GuestLayout.BOOT_PARAMS);
        if (startInfo != 0 && Guest.load32(startInfo) == PVH_MAGIC && Guest.load32(startInfo + 4) >= 1) {
            search(Guest.load64(startInfo + 40), Guest.load32(startInfo + 48), 24);
        } else if (bootParams != 0) {
            search(bootParams + 0x2d0, Guest.load8(bootParams + 0x1e8), 20);
        }
    }

    private static void search(long map, int entries, int stride) {
        for (int i = 0; i < entries; i++) {
            long entry = map + (long) i * stride;
            long start = Guest.load64(entry);
            long limit = start + Guest.load64(entry + 8);
            if (Guest.load32(entry + 16) == USABLE && start <= next && limit > next) {
                end = limit;
            }
        }
    }

    /** Bytes that are still there. */
    public static long available() {
        return Math.max(end - next, 0);
    }

    /** Takes memory, which is not zeroed; ends the guest if there is not enough. */
    public static long allocate(long sizeBytes, long alignment) {
        long address = (next + alignment - 1) & -alignment;
        if (address + sizeBytes > end) {
            Console.print("error: the guest needs ");
            Console.printDecimal(sizeBytes);
            Console.print(" bytes more memory, has ");
            Console.printDecimal(available());
            Console.newLine();
            Exit.exit(Exit.NO_DEVICE);
        }
        next = address + sizeBytes;
        return address;
    }

    /** Takes memory and zeroes it. */
    public static long allocateZeroed(long sizeBytes, long alignment) {
        long address = allocate(sizeBytes, alignment);
        Guest.fill8(address, 0, sizeBytes);
        return address;
    }
}
