package org.benchtop.guests.rt;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;

/**
 * The guest's command line: words {@code key=value}, separated by blanks; the last one of a key counts.
 *
 * <p>It comes from the PVH start_info or the Linux boot_params and is copied at the start.
 */
public final class Cmdline {
    private static final int CAPACITY = 4096;
    private static final long TEXT = Guest.reserve(CAPACITY, 16);
    private static final int PVH_MAGIC = 0x336e_c578;
    private static int length;

    private Cmdline() {}

    static void load() {
        long source = 0;
        long startInfo = Guest.load64(GuestLayout.START_INFO);
        long bootParams = Guest.load64(GuestLayout.BOOT_PARAMS);
        if (startInfo != 0 && Guest.load32(startInfo) == PVH_MAGIC) {
            source = Guest.load64(startInfo + 24);
        } else if (bootParams != 0) {
            source = Guest.load32Unsigned(bootParams + 0x228) | Guest.load32Unsigned(bootParams + 0xc8) << 32;
        }
        if (source == 0) {
            return;
        }
        while (length < CAPACITY - 1 && Guest.load8(source + length) != 0) {
            Guest.store8(TEXT + length, Guest.load8(source + length));
            length++;
        }
    }

    /** Address of the whole command line; {@link #length()} bytes. */
    public static long text() {
        return TEXT;
    }

    /** Length of the whole command line in bytes. */
    public static int length() {
        return length;
    }

    /** Position of the value of {@code key}, or −1. */
    private static int find(String key) {
        long name = Guest.textAddress(key);
        int size = Guest.textLength(key);
        int found = -1;
        int at = 0;
        while (at < length) {
            int end = wordEnd(at);
            if (end - at > size && Guest.load8(TEXT + at + size) == '=' && equal(TEXT + at, name, size)) {
                found = at + size + 1;
            }
            at = end + 1;
        }
        return found;
    }

    private static int wordEnd(int at) {
        while (at < length && Guest.load8(TEXT + at) != ' ') {
            at++;
        }
        return at;
    }

    private static boolean equal(long a, long b, int size) {
        for (int i = 0; i < size; i++) {
            if (Guest.load8(a + i) != Guest.load8(b + i)) {
                return false;
            }
        }
        return true;
    }

    /** Whether {@code key} is given. */
    public static boolean has(String key) {
        return find(key) >= 0;
    }

    /** Whether {@code key} has exactly this value. */
    public static boolean is(String key, String value) {
        int at = find(key);
        int size = Guest.textLength(value);
        return at >= 0 && wordEnd(at) - at == size && equal(TEXT + at, Guest.textAddress(value), size);
    }

    /** Prints the value of {@code key}. */
    public static void print(String key) {
        int at = find(key);
        if (at >= 0) {
            Console.printBytes(TEXT + at, wordEnd(at) - at);
        }
    }

    /**
     * The number given for {@code key}: decimal or 0x…, with an optional unit k, M, G, KiB, MiB, GiB (powers of 1024);
     * {@code otherwise} if the key is not given. A malformed number or one outside the range ends the guest.
     */
    public static long number(String key, long otherwise, long least, long most) {
        int at = find(key);
        if (at < 0) {
            return otherwise;
        }
        int end = wordEnd(at);
        long value = 0;
        boolean good = false;
        int base = 10;
        if (end - at > 2 && Guest.load8(TEXT + at) == '0' && Guest.load8(TEXT + at + 1) == 'x') {
            base = 16;
            at += 2;
        }
        while (at < end) {
            int digit = digit(Guest.load8(TEXT + at), base);
            if (digit < 0) {
                break;
            }
            value = value * base + digit;
            good = value >= 0;
            if (!good) {
                break;
            }
            at++;
        }
        if (good && at < end) {
            int shift = unit(at, end);
            good = shift > 0 && value <= Long.MAX_VALUE >> shift;
            value <<= shift & 63;
        }
        if (!good || value < least || value > most) {
            reject(key, least, most);
        }
        return value;
    }

    private static int digit(int character, int base) {
        int digit = -1;
        if (character >= '0' && character <= '9') {
            digit = character - '0';
        } else if (character >= 'a' && character <= 'f') {
            digit = character - 'a' + 10;
        }
        return digit < base ? digit : -1;
    }

    private static int unit(int at, int end) {
        int rest = end - at;
        boolean binary = rest == 3 && Guest.load8(TEXT + at + 1) == 'i' && Guest.load8(TEXT + at + 2) == 'B';
        if (rest != 1 && !binary) {
            return 0;
        }
        return switch (Guest.load8(TEXT + at)) {
            case 'k', 'K' -> 10;
            case 'm', 'M' -> 20;
            case 'g', 'G' -> 30;
            default -> 0;
        };
    }

    private static void reject(String key, long least, long most) {
        Console.print("error: ");
        Console.print(key);
        Console.print("=");
        print(key);
        Console.print(": expected a number from ");
        Console.printDecimal(least);
        Console.print(" to ");
        Console.printDecimal(most);
        Console.newLine();
        Exit.exit(Exit.BAD_PARAMETER);
    }

    /** A switch: 0 or 1, off or on. */
    public static boolean flag(String key, boolean otherwise) {
        if (is(key, "on")) {
            return true;
        }
        if (is(key, "off")) {
            return false;
        }
        return number(key, otherwise ? 1 : 0, 0, 1) != 0;
    }

    /** Ends the guest if a key is given that is not in {@code keys}, a list separated by blanks. */
    public static void allow(String keys) {
        int at = 0;
        while (at < length) {
            int end = wordEnd(at);
            int equals = at;
            while (equals < end && Guest.load8(TEXT + equals) != '=') {
                equals++;
            }
            if (end > at && !listed(TEXT + at, equals - at, keys) && !listed(TEXT + at, equals - at, "tsc_khz")) {
                Console.print("error: unknown parameter \"");
                Console.printBytes(TEXT + at, end - at);
                Console.print("\" (allowed: key=value with the keys ");
                Console.print(keys);
                Console.println(" tsc_khz)");
                Exit.exit(Exit.BAD_PARAMETER);
            }
            at = end + 1;
        }
    }

    private static boolean listed(long word, int size, String keys) {
        long list = Guest.textAddress(keys);
        int total = Guest.textLength(keys);
        int at = 0;
        while (at < total) {
            int end = at;
            while (end < total && Guest.load8(list + end) != ' ') {
                end++;
            }
            if (end - at == size && equal(word, list + at, size)) {
                return true;
            }
            at = end + 1;
        }
        return false;
    }
}
