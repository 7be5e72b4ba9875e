package org.benchtop.softcpu;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.OptionalLong;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuModel;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.memory.MemoryAccess;

/** The software processor without a machine around it: 64-bit mode, physical addresses, one page of code and one of data. */
final class SoftProcessor implements AutoCloseable {
    /** Where instructions are. */
    static final int CODE = 0x1000;
    /** Where {@link HostVectorUnit#DATA} is here. */
    static final int DATA = 0x4000;

    private static final int MEMORY_BYTES = 0x10000;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment memory = arena.allocate(MEMORY_BYTES, 4096);
    private final SoftVm vm;
    private final Decoder decoder;

    /** The processor. */
    final Cpu cpu;

    /** Vector of the exception that the last {@link #execute} ended with, or -1. */
    int vector;
    /** Offset of the instruction that raised it. */
    int faultOffset;

    SoftProcessor(String model) {
        vm = new SoftVm(
                new SoftOptions(true, false),
                new CpuVmConfig("test", 1, new CpuModel(model, Map.of())),
                new NoDevices());
        vm.mapMemory(0, 0, memory, MemoryAccess.READ_WRITE);
        cpu = new SoftVcpu(vm, 0).cpu();
        decoder = new Decoder(cpu);
        cpu.efer = Cpu.EFER_LME | Cpu.EFER_LMA;
        cpu.cr0 = Cpu.CR0_PE | Cpu.CR0_ET | Cpu.CR0_NE | Cpu.CR0_MP;
        cpu.cr4 = Cpu.CR4_OSFXSR | Cpu.CR4_OSXMMEXCPT | Cpu.CR4_OSXSAVE;
        cpu.xcr0 = 7;
        cpu.segAttr[Cpu.CS] = 0x209b;
        cpu.modeChanged();
        cpu.fpu.x87.controlWord(0x37f);
        cpu.fpu.x87.abridgedTags(0);
    }

    /** Guest memory. */
    MemorySegment memory() {
        return memory;
    }

    /** The decoded instruction at an offset of {@link #CODE}, after its bytes have been written. */
    Insn decode(byte[] bytes, int offset) {
        MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, CODE, bytes.length);
        return decoder.decode(CODE + offset, memory.address() + CODE + offset);
    }

    /** Executes instructions one after another until one raises an exception. */
    void execute(byte[] bytes) {
        vector = -1;
        faultOffset = 0;
        int offset = 0;
        while (offset < bytes.length) {
            try {
                Insn insn = decode(bytes, offset);
                InsnHandler handler = insn.handler;
                if (handler == null) {
                    throw cpu.ud();
                }
                cpu.rip = CODE + offset;
                handler.execute(cpu, insn);
                offset += insn.length;
            } catch (CpuFault e) {
                vector = e.vector;
                faultOffset = offset;
                return;
            }
        }
    }

    @Override
    public void close() {
        vm.close();
        arena.close();
    }

    /** Nothing answers. */
    private static final class NoDevices implements CpuHost {
        @Override
        public long pioRead(int vcpu, int port, int size) {
            return -1;
        }

        @Override
        public void pioWrite(int vcpu, int port, int size, long value) {}

        @Override
        public long mmioRead(int vcpu, long gpa, int size) {
            return -1;
        }

        @Override
        public void mmioWrite(int vcpu, long gpa, int size, long value) {}

        @Override
        public long hypercall(int vcpu, long number, long a0, long a1, long a2, long a3, long a4) {
            return -1;
        }

        @Override
        public OptionalLong readMsr(int vcpu, int msr) {
            return OptionalLong.empty();
        }

        @Override
        public boolean writeMsr(int vcpu, int msr, long value) {
            return false;
        }
    }
}
