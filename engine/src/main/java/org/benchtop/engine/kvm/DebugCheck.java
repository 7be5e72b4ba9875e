package org.benchtop.engine.kvm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.VcpuExit;

/**
 * Finds out whether a KVM debugs programs: one that runs ring 3 as an ordinary process of the host need not load the debug
 * registers for it, and may hand the guest the exception that ends a single step.
 */
final class DebugCheck {
    private static final Map<Path, Result> RESULTS = new ConcurrentHashMap<>();

    private static final long PML4_GPA = 0x1000;
    private static final long PDPT_GPA = 0x2000;
    private static final long PD_GPA = 0x3000;
    private static final long CODE_GPA = 0x4000;
    private static final long RAM_BYTES = 0x5000;
    /** Present, writable, for programs; the last level a 2 MiB page. */
    private static final long TABLE = 7;

    private static final long LARGE_PAGE = 0x87;
    /** Interrupts off, I/O allowed. */
    private static final long IOPL_3 = 0x3002;
    /** nop; nop; out 0xf4, al; jmp $. */
    private static final byte[] CODE = {
        (byte) 0x90, (byte) 0x90, (byte) 0xe6, (byte) CheckGuest.DONE_PORT, (byte) 0xeb, (byte) 0xfe
    };

    private DebugCheck() {}

    /**
     * What works in ring 3 of 64-bit mode.
     *
     * @param breakpoints whether a breakpoint ends a run
     * @param steps whether a run ends after one instruction
     */
    record Result(boolean breakpoints, boolean steps) {}

    /** Asked of each device once. */
    static Result of(Path device) {
        return RESULTS.computeIfAbsent(
                device,
                asked -> new Result(
                        stops(asked, vcpu -> vcpu.hardwareBreakpoints(CODE_GPA + 1)),
                        stops(asked, vcpu -> vcpu.plainSingleStep())));
    }

    private static boolean stops(Path device, Consumer<KvmVcpu> how) {
        try (CheckGuest guest = new CheckGuest(device, "debug-check", RAM_BYTES)) {
            MemorySegment.copy(CODE, 0, guest.ram(), ValueLayout.JAVA_BYTE, CODE_GPA, CODE.length);
            guest.ram().set(ValueLayout.JAVA_LONG, PML4_GPA, PDPT_GPA | TABLE);
            guest.ram().set(ValueLayout.JAVA_LONG, PDPT_GPA, PD_GPA | TABLE);
            guest.ram().set(ValueLayout.JAVA_LONG, PD_GPA, LARGE_PAGE);
            KvmVcpu vcpu = guest.vcpu();
            vcpu.specialRegisters(program(vcpu.specialRegisters()));
            vcpu.registers(Registers.ZERO.withRip(CODE_GPA).withRflags(IOPL_3));
            how.accept(vcpu);
            return vcpu.run() instanceof VcpuExit.Debug;
        } catch (BenchtopException e) {
            return false;
        }
    }

    /** 64-bit mode, flat, ring 3. */
    private static SpecialRegisters program(SpecialRegisters old) {
        SegmentRegister code = new SegmentRegister(0x33, 0, -1, 0xb, true, 3, false, false, true, true, false, false);
        SegmentRegister data = new SegmentRegister(0x2b, 0, -1, 0x3, true, 3, true, false, false, true, false, false);
        return new SpecialRegisters(
                code,
                data,
                data,
                data,
                data,
                data,
                old.tr(),
                old.ldt(),
                old.gdt(),
                old.idt(),
                0x8000_0033L,
                0,
                PML4_GPA,
                0x20,
                0,
                0x500,
                old.apicBase());
    }
}
