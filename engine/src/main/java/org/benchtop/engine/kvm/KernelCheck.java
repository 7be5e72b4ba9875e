package org.benchtop.engine.kvm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.VcpuExit;

/**
 * Finds out whether a KVM runs operating systems: those that interpret code of the most privileged ring do not know all
 * instructions there.
 */
final class KernelCheck {
    private static final Map<Path, Boolean> RESULTS = new ConcurrentHashMap<>();

    private static final long CODE_GPA = 0x1000;
    private static final long RAM_BYTES = 0x4000;
    /** fwait; fnclex; emms; out 0xf4, al; hlt. */
    private static final byte[] CODE = {
        (byte) 0x9b, (byte) 0xdb, (byte) 0xe2, 0x0f, 0x77, (byte) 0xe6, (byte) CheckGuest.DONE_PORT, (byte) 0xf4
    };

    private KernelCheck() {}

    /** Whether a device's VMs execute a few such instructions; asked of each device once. */
    static boolean passes(Path device) {
        return RESULTS.computeIfAbsent(device, KernelCheck::run);
    }

    private static boolean run(Path device) {
        try (CheckGuest guest = new CheckGuest(device, "kernel-check", RAM_BYTES)) {
            MemorySegment.copy(CODE, 0, guest.ram(), ValueLayout.JAVA_BYTE, CODE_GPA, CODE.length);
            KvmVcpu vcpu = guest.vcpu();
            vcpu.specialRegisters(flat(vcpu.specialRegisters()));
            vcpu.registers(vcpu.registers().withRip(CODE_GPA));
            return vcpu.run() instanceof VcpuExit.Kicked && guest.done();
        } catch (BenchtopException e) {
            return false;
        }
    }

    /** 32-bit protected mode, flat, ring 0. */
    private static SpecialRegisters flat(SpecialRegisters old) {
        SegmentRegister data = SegmentRegister.flatData(0x18);
        return new SpecialRegisters(
                SegmentRegister.flatCode(0x10, false),
                data,
                data,
                data,
                data,
                data,
                old.tr(),
                old.ldt(),
                old.gdt(),
                old.idt(),
                0x31,
                0,
                0,
                0,
                0,
                0,
                old.apicBase());
    }
}
