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
        Memory.load();
        Console.open();
        catchNullAddresses();
        Guest.enableInterrupts();
        Exit.exit(Guest.callEntry());
    }

    /** The loader may have left its data in page 0; from now on an access there is an error. */
    private static void catchNullAddresses() {
        Guest.store64(Guest.symbol("first_page_entry"), 0);
        Guest.flushTlb();
    }
}
