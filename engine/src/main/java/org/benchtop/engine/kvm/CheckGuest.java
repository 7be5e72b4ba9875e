package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuModel;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.memory.MemoryAccess;

/**
 * A VM of some instructions that finds out what a KVM really does; its vCPU is kicked when it writes to {@link #DONE_PORT}.
 */
final class CheckGuest implements CpuHost, AutoCloseable {
    static final int DONE_PORT = 0xf4;

    private static final long PAGE_BYTES = 0x1000;

    private final Arena arena = Arena.ofShared();
    private final KvmVm vm;
    private final KvmVcpu vcpu;
    private final MemorySegment ram;
    private boolean done;

    /**
     * A VM with a vCPU after reset.
     *
     * @throws BenchtopException if the host or KVM cannot
     */
    CheckGuest(Path device, String name, long ramBytes) {
        try {
            ram = arena.allocate(ramBytes, PAGE_BYTES);
            KvmOptions options = new KvmOptions(device, KvmOptions.MsiDelivery.AUTO);
            vm = KvmVm.create(options, new CpuVmConfig(name, 1, CpuModel.HOST), this);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        }
        try {
            vm.mapMemory(0, 0, ram, MemoryAccess.READ_WRITE);
            vcpu = vm.createVcpu(0);
        } catch (RuntimeException e) {
            vm.close();
            arena.close();
            throw e;
        }
    }

    KvmVcpu vcpu() {
        return vcpu;
    }

    MemorySegment ram() {
        return ram;
    }

    /** Whether the guest has reached its end. */
    boolean done() {
        return done;
    }

    @Override
    public void close() {
        vcpu.close();
        vm.close();
        arena.close();
    }

    @Override
    public long pioRead(int index, int port, int size) {
        return -1;
    }

    @Override
    public void pioWrite(int index, int port, int size, long value) {
        if (port == DONE_PORT) {
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
