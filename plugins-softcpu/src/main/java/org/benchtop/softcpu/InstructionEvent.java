package org.benchtop.softcpu;

import java.util.HexFormat;
import jdk.jfr.Category;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An executed instruction, while {@code CpuVm.trace} is on. */
@Name("benchtop.Instruction")
@Label("Executed Instruction")
@Category({"Benchtop", "CPU"})
@Enabled(false)
@StackTrace(false)
final class InstructionEvent extends Event {
    @Label("Machine")
    String machine = "";

    @Label("vCPU")
    int vcpu;

    @Label("RIP")
    long rip;

    @Label("Bytes")
    String bytes = "";

    void of(Cpu c, long at, byte[] code) {
        machine = c.vm.name();
        vcpu = c.index;
        rip = at;
        bytes = HexFormat.of().formatHex(code);
    }
}
