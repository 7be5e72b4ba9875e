package org.benchtop.guests.rt;

import org.benchtop.guests.lang.Guest;

/**
 * Text output on the first serial port (16550 at 0x3f8).
 *
 * <p>Text is collected per line and written in bursts of the transmit FIFO's 16 bytes, with one look at the line
 * status per burst, because every port access may cost the host tens of microseconds. Lines of several CPUs may mix
 * but never get lost.
 */
public final class Console {
    private static final int PORT = 0x3f8;
    private static final int INTERRUPT_ENABLE = PORT + 1;
    private static final int FIFO_CONTROL = PORT + 2;
    private static final int LINE_CONTROL = PORT + 3;
    private static final int MODEM_CONTROL = PORT + 4;
    private static final int LINE_STATUS = PORT + 5;
    private static final int TRANSMIT_EMPTY = 0x20;
    private static final int FIFO_SIZE = 16;
    private static final int CAPACITY = 512;
    private static final int MAX_STATUS_READS = 200_000;

    private static final long BUFFER = Guest.reserve(CAPACITY, 16);
    private static final long LOCK = Guest.reserve(4, 64);
    private static int used;
    private static boolean present;

    private Console() {}

    static void open() {
        Guest.out8(LINE_CONTROL, 0x80);
        Guest.out8(PORT, 1);
        Guest.out8(INTERRUPT_ENABLE, 0);
        Guest.out8(LINE_CONTROL, 0x03);
        Guest.out8(FIFO_CONTROL, 0x07);
        Guest.out8(MODEM_CONTROL, 0x03);
        present = Guest.in8(LINE_STATUS) != 0xff;
    }

    /** Takes the lock away from whoever holds it: for reports of a dying guest. */
    static void seize() {
        Guest.store32Volatile(LOCK, 0);
        if (!present) {
            open();
        }
        if (used > CAPACITY - 2) {
            used = 0;
        }
    }

    private static void lock() {
        while (!Guest.compareAndSet32(LOCK, 0, 1)) {
            Guest.pause();
        }
    }

    private static void unlock() {
        Guest.store32Release(LOCK, 0);
    }

    private static void append(int character) {
        if (used >= CAPACITY - 2) {
            drain();
        }
        if (character == '\n') {
            Guest.store8(BUFFER + used, '\r');
            used++;
        }
        Guest.store8(BUFFER + used, character);
        used++;
        if (character == '\n') {
            drain();
        }
    }

    private static void drain() {
        int count = used;
        used = 0;
        if (!present) {
            return;
        }
        int sent = 0;
        while (sent < count) {
            int reads = 0;
            while ((Guest.in8(LINE_STATUS) & TRANSMIT_EMPTY) == 0) {
                reads++;
                if (reads > MAX_STATUS_READS) {
                    present = false;
                    return;
                }
                Guest.pause();
            }
            int end = Math.min(count, sent + FIFO_SIZE);
            while (sent < end) {
                Guest.out8(PORT, Guest.load8(BUFFER + sent));
                sent++;
            }
        }
    }

    /** Writes out what an unfinished line has so far. */
    public static void flush() {
        lock();
        drain();
        unlock();
    }

    /** Prints a text. */
    public static void print(String text) {
        printBytes(Guest.textAddress(text), Guest.textLength(text));
    }

    /** Prints a text and ends the line. */
    public static void println(String text) {
        print(text);
        printChar('\n');
    }

    /** Prints bytes in memory as Latin-1 characters. */
    public static void printBytes(long address, int count) {
        lock();
        for (int i = 0; i < count; i++) {
            append(Guest.load8(address + i));
        }
        unlock();
    }

    /** Prints one character. */
    public static void printChar(int character) {
        lock();
        append(character);
        unlock();
    }

    /** Ends the line. */
    public static void newLine() {
        printChar('\n');
    }

    /** Prints a signed decimal number. */
    public static void printDecimal(long value) {
        lock();
        if (value < 0) {
            append('-');
            decimal(-value);
        } else {
            decimal(value);
        }
        unlock();
    }

    private static void decimal(long magnitude) {
        if (Long.compareUnsigned(magnitude, 10) >= 0) {
            decimal(Long.divideUnsigned(magnitude, 10));
        }
        append('0' + (int) Long.remainderUnsigned(magnitude, 10));
    }

    /** Prints {@code value / 10^digits} with exactly {@code digits} decimals; the value is not negative. */
    public static void printFixed(long value, int digits) {
        long unit = 1;
        for (int i = 0; i < digits; i++) {
            unit *= 10;
        }
        printDecimal(value / unit);
        printChar('.');
        long rest = value % unit;
        while (unit > 1) {
            unit /= 10;
            printChar('0' + (int) (rest / unit % 10));
        }
    }

    /** Prints a number in hexadecimal, with 0x. */
    public static void printHex(long value) {
        lock();
        append('0');
        append('x');
        int shift = 60;
        while (shift > 0 && value >>> shift == 0) {
            shift -= 4;
        }
        for (; shift >= 0; shift -= 4) {
            int digit = (int) (value >>> shift) & 15;
            append(digit < 10 ? '0' + digit : 'a' + digit - 10);
        }
        unlock();
    }
}
