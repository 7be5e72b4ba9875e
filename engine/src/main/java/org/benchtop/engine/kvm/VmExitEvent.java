package org.benchtop.engine.kvm;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A flight-recorder event per exit; the duration is the time until the vCPU enters guest mode again. */
@Name("org.benchtop.VmExit")
@Label("VM Exit")
@Description("A vCPU left guest mode; the duration is the handling time")
@Category({"Benchtop", "vCPU"})
@StackTrace(false)
final class VmExitEvent extends Event {
    @Label("Machine")
    String machine = "";

    @Label("vCPU")
    int vcpu;

    @Label("Reason")
    String reason = "";

    @Label("Port or Address")
    long address;

    @Label("Access Size")
    @DataAmount
    int size;
}
