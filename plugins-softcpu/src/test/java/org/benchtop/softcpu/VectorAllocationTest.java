package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Executing x87 and vector instructions allocates nothing. */
class VectorAllocationTest {
    private static final int ROUNDS = 20_000;

    @Test
    void instructionsDoNotAllocate() {
        try (SoftProcessor soft = new SoftProcessor("max")) {
            soft.cpu.r[Cpu.RDI] = SoftProcessor.DATA;
            List<Insn> insns = new ArrayList<>();
            byte[][] codes = {
                {0x66, 0x0f, (byte) 0xfc, (byte) 0xc1}, // paddb
                {0x66, 0x0f, 0x38, 0x00, 0x07}, // pshufb xmm0, [rdi]
                {0x0f, 0x58, (byte) 0xc1}, // addps
                {(byte) 0xf2, 0x0f, 0x5e, (byte) 0xca}, // divsd
                {(byte) 0xf2, 0x48, 0x0f, 0x2c, (byte) 0xc1}, // cvttsd2si
                {0x66, 0x0f, 0x3a, 0x63, (byte) 0xc1, 0x0c}, // pcmpistri
                {(byte) 0xc4, (byte) 0xe2, (byte) 0xf5, (byte) 0xb8, (byte) 0xc2}, // vfmadd231pd
                {(byte) 0xd9, (byte) 0xe8}, // fld1
                {(byte) 0xd8, (byte) 0xc8}, // fmul
                {(byte) 0xd9, (byte) 0xfe}, // fsin
                {(byte) 0xdd, 0x1f}, // fstp qword [rdi]
                {0x0f, (byte) 0xae, 0x07}, // fxsave [rdi]
            };
            for (byte[] code : codes) {
                insns.add(soft.decode(code, 0));
            }
            Insn[] all = insns.toArray(Insn[]::new);
            run(soft.cpu, all);
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadAllocatedBytes();
            run(soft.cpu, all);
            long bytes = threads.getCurrentThreadAllocatedBytes() - before;
            // The measurement itself may allocate a little; an object per instruction would be megabytes.
            assertEquals(0, bytes / ROUNDS, () -> bytes + " bytes");
        }
    }

    private static void run(Cpu cpu, Insn[] insns) {
        for (int i = 0; i < ROUNDS; i++) {
            for (Insn insn : insns) {
                InsnHandler handler = insn.handler;
                if (handler != null) {
                    handler.execute(cpu, insn);
                }
            }
        }
    }
}
