package org.benchtop.spi.cpu;

/** The general registers of a vCPU: a snapshot. */
public record Registers(
        long rax,
        long rbx,
        long rcx,
        long rdx,
        long rsi,
        long rdi,
        long rsp,
        long rbp,
        long r8,
        long r9,
        long r10,
        long r11,
        long r12,
        long r13,
        long r14,
        long r15,
        long rip,
        long rflags) {
    /** All zero but the always-set bit 1 of RFLAGS. */
    public static final Registers ZERO = new Registers(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2);

    /** The same with another RIP. */
    public Registers withRip(long value) {
        return new Registers(
                rax, rbx, rcx, rdx, rsi, rdi, rsp, rbp, r8, r9, r10, r11, r12, r13, r14, r15, value, rflags);
    }

    /** The same with another RSP. */
    public Registers withRsp(long value) {
        return new Registers(
                rax, rbx, rcx, rdx, rsi, rdi, value, rbp, r8, r9, r10, r11, r12, r13, r14, r15, rip, rflags);
    }

    /** The same with another RBX. */
    public Registers withRbx(long value) {
        return new Registers(
                rax, value, rcx, rdx, rsi, rdi, rsp, rbp, r8, r9, r10, r11, r12, r13, r14, r15, rip, rflags);
    }

    /** The same with another RSI. */
    public Registers withRsi(long value) {
        return new Registers(
                rax, rbx, rcx, rdx, value, rdi, rsp, rbp, r8, r9, r10, r11, r12, r13, r14, r15, rip, rflags);
    }

    /** The same with another RFLAGS. */
    public Registers withRflags(long value) {
        return new Registers(rax, rbx, rcx, rdx, rsi, rdi, rsp, rbp, r8, r9, r10, r11, r12, r13, r14, r15, rip, value);
    }
}
