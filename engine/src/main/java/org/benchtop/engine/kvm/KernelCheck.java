package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuModel;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.memory.MemoryAccess;
import org.jspecify.annotations.Nullable;

/**
 * Finds out whether a KVM runs operating systems: those that interpret code of the most privileged ring do not know all
 * instructions there.
 */
final class KernelCheck {
    private static final Map<Path, Boolean> RESULTS = new ConcurrentHashMap<>();

    private static final int DONE_PORT = 0xf4;
    private static final long CODE_GPA = 0x1000;
    private static final long RAM_BYTES = 0x4000;
    private static final long PAGE_BYTES = 0x1000;
    /** fwait; fnclex; emms; out 0xf4, al; hlt. */
    private static final byte[] CODE = {
        (byte) 0x9b, (byte) 0xdb, (byte) 0xe2, 0x0f, 0x77, (byte) 0xe6, (byte) DONE_PORT, (byte) 0xf4
    };

    private KernelCheck() {}

    /** Whether a device's VMs execute a few such instructions; asked of each device once. */
    static boolean passes(Path device) {
        return RESULTS.computeIfAbsent(device, KernelCheck::run);
    }

    private static boolean run(Path device) {
        Host host = new Host();
        KvmOptions options = new KvmOptions(device, KvmOptions.MsiDelivery.AUTO);
        try (Arena arena = Arena.ofShared();
                KvmVm vm = KvmVm.create(options, new CpuVmConfig("kernel-check", 1, CpuModel.HOST), host);
                KvmVcpu vcpu = vm.createVcpu(0)) {
            MemorySegment ram = arena.allocate(RAM_BYTES, PAGE_BYTES);
            MemorySegment.copy(CODE, 0, ram, ValueLayout.JAVA_BYTE, CODE_GPA, CODE.length);
            vm.mapMemory(0, 0, ram, MemoryAccess.READ_WRITE);
            host.vcpu = vcpu;
            vcpu.specialRegisters(flat(vcpu.specialRegisters()));
            vcpu.registers(vcpu.registers().withRip(CODE_GPA));
            return vcpu.run() instanceof VcpuExit.Kicked && host.done;
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

    /** Sees the guest reach its end. */
    private static final class Host implements CpuHost {
        private @Nullable KvmVcpu vcpu;
        private boolean done;

        @Override
        public long pioRead(int index, int port, int size) {
            return -1;
        }

        @Override
        public void pioWrite(int index, int port, int size, long value) {
            if (port == DONE_PORT && vcpu != null) {
                done = true;
                vcpu.kick();
            }
        }

        @Override
        public long mmioRead(int index, long gpa, int size) {
            return -1;
        }

        @Override
        public void mmioWrite(int index, long gpa, int size, long value) {}

        @Override
        public long hypercall(int index, long number, long a0, long a1, long a2, long a3, long a4) {
            return -1;
        }

        @Override
        public OptionalLong readMsr(int index, int msr) {
            return OptionalLong.empty();
        }

        @Override
        public boolean writeMsr(int index, int msr, long value) {
            return false;
        }
    }
}
