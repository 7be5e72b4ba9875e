package org.benchtop.guests.rt;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;

/**
 * Ends the guest.
 *
 * <p>The code goes to port 0x501 as 32 bits. Benchtop's exit port ends the machine with that code; QEMU's
 * {@code isa-debug-exit} ends QEMU with {@code code * 2 + 1}. Without such a device the ACPI power-off of an Intel
 * 440FX machine (port 0x604) and the keyboard controller's reset line follow.
 */
public final class Exit {
    /** Everything asked for was done. */
    public static final int OK = 0;

    /** A check failed: wrong data. */
    public static final int CHECK_FAILED = 1;

    /** A parameter on the command line is wrong. */
    public static final int BAD_PARAMETER = 2;

    /** The machine lacks the device or resource asked for. */
    public static final int NO_DEVICE = 3;

    /** A device reported an error or did not answer. */
    public static final int DEVICE_ERROR = 4;

    /** The guest raised a CPU exception; reported on the serial line. */
    public static final int EXCEPTION = 127;

    private static final int ACPI_PM1A_CONTROL = 0x604;
    private static final int SLEEP_ENABLE = 0x2000;

    private Exit() {}

    /** Flushes the console and stops the machine; does not return. */
    public static void exit(int code) {
        Console.flush();
        Guest.out32(GuestLayout.EXIT_PORT, code);
        Guest.out16(ACPI_PM1A_CONTROL, SLEEP_ENABLE);
        Guest.out8(0x64, 0xfe);
        Guest.park();
    }

    /** Prints {@code message} as an error and stops the machine. */
    public static void fail(int code, String message) {
        Console.print("error: ");
        Console.println(message);
        exit(code);
    }
}
