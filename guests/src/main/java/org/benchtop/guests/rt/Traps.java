package org.benchtop.guests.rt;

import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.lang.Guest;

/**
 * Reports a CPU exception and ends the guest with code 127.
 *
 * <p>The record is what the monitor saved: CR2, R15 to R8, RDI, RSI, RBP, RBX, RDX, RCX, RAX, then vector, error code,
 * RIP, CS, RFLAGS, RSP and SS.
 */
final class Traps {
    private static final int CR2 = 0;
    private static final int VECTOR = 128;
    private static final int ERROR_CODE = 136;
    private static final int RIP = 144;
    private static final int CS = 152;
    private static final int RSP = 168;
    private static final int PAGE_FAULT = 14;

    private Traps() {}

    static void trap(long entry) {
        Console.seize();
        int cpu = (int) (entry >> 16) - (int) (GuestLayout.STACKS >> 16);
        int vector = (int) Guest.load64(entry + VECTOR);
        long address = Guest.load64(entry + RIP);
        Console.newLine();
        Console.print("guest exception ");
        Console.printDecimal(vector);
        Console.print(" (");
        name(vector);
        Console.print(")");
        if ((Guest.load64(entry + CS) & 3) == 0) {
            Console.print(" in the monitor at ");
            Console.printHex(address);
            Console.print(", called");
            address = Guest.load64(Guest.load64(entry + RSP));
        }
        Console.print(" at ");
        where(address);
        Console.newLine();
        Console.print("  rip=");
        Console.printHex(address);
        Console.print(" error=");
        Console.printHex(Guest.load64(entry + ERROR_CODE));
        Console.print(" cr2=");
        Console.printHex(Guest.load64(entry + CR2));
        Console.print(" cpu=");
        Console.printDecimal(cpu);
        Console.print(" rsp=");
        Console.printHex(Guest.load64(entry + RSP));
        Console.newLine();
        registers(entry);
        if (vector == PAGE_FAULT) {
            explain(Guest.load64(entry + CR2));
        }
        Exit.exit(Exit.EXCEPTION);
    }

    private static void registers(long entry) {
        Console.print("  rax=");
        Console.printHex(Guest.load64(entry + 120));
        Console.print(" rcx=");
        Console.printHex(Guest.load64(entry + 112));
        Console.print(" rdx=");
        Console.printHex(Guest.load64(entry + 104));
        Console.print(" rbx=");
        Console.printHex(Guest.load64(entry + 96));
        Console.print(" rbp=");
        Console.printHex(Guest.load64(entry + 88));
        Console.print(" rsi=");
        Console.printHex(Guest.load64(entry + 80));
        Console.print(" rdi=");
        Console.printHex(Guest.load64(entry + 72));
        for (int i = 8; i < 16; i++) {
            Console.print(" r");
            Console.printDecimal(i);
            Console.print("=");
            Console.printHex(Guest.load64(entry + 8L * (16 - i)));
        }
        Console.newLine();
    }

    private static void explain(long address) {
        long stacksEnd = GuestLayout.STACKS + GuestLayout.MAX_CPUS * GuestLayout.STACK_SLOT_SIZE;
        if (address >= GuestLayout.STACKS && address < stacksEnd) {
            Console.println("  the stack has overflowed");
        } else if (address >= 0 && address < 4096) {
            Console.println("  the address is in page 0, which is kept unmapped");
        }
    }

    private static void where(long address) {
        long table = Guest.symbol("line_table");
        long low = 0;
        long high = (Guest.symbol("line_table_end") - table) / 8 - 1;
        while (low <= high) {
            long middle = low + high >> 1;
            if (Guest.load32Unsigned(table + 8 * middle) <= address) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        if (high < 0) {
            Console.printHex(address);
            return;
        }
        long entry = table + 8 * high;
        long place = Guest.load32Unsigned(Guest.symbol("method_table") + 4L * Guest.load16(entry + 6));
        Console.printBytes(place + 4, Guest.load32(place));
        Console.print(":");
        Console.printDecimal(Guest.load16(entry + 4));
        Console.print(")");
    }

    private static void name(int vector) {
        switch (vector) {
            case 0 -> Console.print("division by zero");
            case 1 -> Console.print("debug");
            case 2 -> Console.print("non-maskable interrupt");
            case 3 -> Console.print("breakpoint");
            case 6 -> Console.print("invalid instruction");
            case 8 -> Console.print("double fault");
            case 12 -> Console.print("stack fault");
            case 13 -> Console.print("general protection");
            case PAGE_FAULT -> Console.print("page fault");
            case 17 -> Console.print("alignment check");
            case 18 -> Console.print("machine check");
            default -> Console.print("CPU exception");
        }
    }
}
