package org.benchtop.engine.kvm;

import java.util.OptionalLong;
import org.benchtop.spi.cpu.CpuHost;

/** A machine without devices. */
class SilentHost implements CpuHost {
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
