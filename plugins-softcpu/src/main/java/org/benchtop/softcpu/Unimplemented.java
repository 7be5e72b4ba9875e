package org.benchtop.softcpu;

/** The guest uses something of the architecture that this processor does not have: stops the VM with a report. */
final class Unimplemented extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Unimplemented(String what) {
        super(what, null, false, false);
    }
}
