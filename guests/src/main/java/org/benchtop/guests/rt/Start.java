package org.benchtop.guests.rt;

import org.benchtop.guests.lang.Guest;

/** Where every CPU arrives in ring 3, with interrupts off. */
final class Start {
    private Start() {}

    static void start(int cpu) {
        LocalApic.enable();
        if (cpu != 0) {
            Smp.serve(cpu);
        }
        Guest.callInitializers();
        Cmdline.load();
        Console.open();
        Guest.enableInterrupts();
        Exit.exit(Guest.callEntry());
    }
}
