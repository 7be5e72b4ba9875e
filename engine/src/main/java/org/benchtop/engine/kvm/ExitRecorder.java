package org.benchtop.engine.kvm;

import jdk.jfr.FlightRecorder;

/**
 * Records the exits of one vCPU with the flight recorder; used by the vCPU's thread.
 *
 * <p>Made only once the recorder is in use: an event class brings half of the recorder with it when it is initialised,
 * which would cost each start of a VM some 150 ms.
 */
final class ExitRecorder {
    private final String machine;
    private final int vcpu;
    /** Used again for each exit. */
    private final VmExitEvent event = new VmExitEvent();

    ExitRecorder(String machine, int vcpu) {
        this.machine = machine;
        this.vcpu = vcpu;
    }

    /** Whether anybody may be recording in this process; nearly free. */
    static boolean wanted() {
        return FlightRecorder.isInitialized();
    }

    /** Starts to measure an exit; false if nobody records exits. */
    boolean begin() {
        if (!event.isEnabled()) {
            return false;
        }
        event.begin();
        return true;
    }

    /** Records the exit that {@link #begin} said yes to. */
    void end(KvmExit exit, long address, int size) {
        event.end();
        if (event.shouldCommit()) {
            event.machine = machine;
            event.vcpu = vcpu;
            event.reason = exit.label();
            event.address = address;
            event.size = size;
            event.commit();
        }
    }
}
