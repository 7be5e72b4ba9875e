package org.benchtop.guests.programs;

import org.benchtop.guests.rt.Cmdline;
import org.benchtop.guests.rt.Console;
import org.benchtop.guests.rt.Exit;
import org.benchtop.guests.rt.Smp;
import org.benchtop.guests.rt.Tsc;

/** Says hello, with what the guest knows of its machine; {@code code=N} sets the exit code, {@code smp=1} starts all CPUs. */
final class Hello {
    private Hello() {}

    static int main() {
        Cmdline.allow("code smp");
        Console.println("Hello from a guest written in Java.");
        Console.print("command line: \"");
        Console.printBytes(Cmdline.text(), Cmdline.length());
        Console.println("\"");
        Console.print("TSC: ");
        Console.printDecimal(Tsc.khz());
        Console.println(" kHz");
        if (Cmdline.flag("smp", false)) {
            Console.print("CPUs: ");
            Console.printDecimal(Smp.start());
            Console.newLine();
        }
        return (int) Cmdline.number("code", Exit.OK, 0, 125);
    }
}
