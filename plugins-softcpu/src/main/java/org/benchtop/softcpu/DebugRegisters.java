package org.benchtop.softcpu;

/**
 * The guest's own breakpoints and watchpoints: what DR0–DR3 and DR7 ask for, and what was hit (Intel SDM vol. 3, 18.2). Pages
 * with watched data are kept out of the TLB, so that others cost nothing. Belongs to the processor's thread.
 */
final class DebugRegisters {
    /** In DR6: MOV DR under DR7.GD. */
    static final int BD = 1 << 13;
    /** In DR6: a single step. */
    static final int BS = 1 << 14;
    /** In DR6: a switch to a task whose TSS has T set. */
    static final int BT = 1 << 15;

    /** In DR7: MOV DR raises #DB. */
    private static final int GENERAL_DETECT = 1 << 13;
    /** In DR7: L0–L3 and LE. */
    private static final int LOCAL = 0x155;

    private static final int COUNT = 4;
    private static final int EXECUTION = 0;
    private static final int WRITES = 1;
    private static final int PORTS = 2;

    private final Cpu c;
    /** Which of the four watch data, ports, and execution. */
    private int data;

    private int ports;
    private int executions;
    /** What the instruction that is executed has hit, as in DR6. */
    private int hits;

    DebugRegisters(Cpu c) {
        this.c = c;
    }

    private int kind(int i) {
        return (int) (c.dr[7] >>> 16 + 4 * i) & 3;
    }

    private int length(int i) {
        return switch ((int) (c.dr[7] >>> 18 + 4 * i) & 3) {
            case 0 -> 1;
            case 1 -> 2;
            case 2 -> 8;
            default -> 4;
        };
    }

    private long first(int i) {
        return c.dr[i] & -length(i);
    }

    /** After DR0–DR3, DR7 or CR4.DE were written. */
    void changed() {
        int oldData = data;
        data = 0;
        ports = 0;
        executions = 0;
        for (int i = 0; i < COUNT; i++) {
            if ((c.dr[7] >>> 2 * i & 3) == 0) {
                continue;
            }
            switch (kind(i)) {
                case EXECUTION -> executions |= 1 << i;
                case PORTS -> ports |= (c.cr4 & Cpu.CR4_DE) != 0 ? 1 << i : 0;
                default -> data |= 1 << i;
            }
        }
        if ((oldData | data) != 0) {
            c.mmu.flush();
        }
        c.vcpu.debugRegistersChanged();
    }

    /** Linear addresses with a breakpoint. */
    long[] breakpoints() {
        long[] addresses = new long[Integer.bitCount(executions)];
        int n = 0;
        for (int i = 0; i < COUNT; i++) {
            if ((executions >>> i & 1) != 0) {
                addresses[n++] = c.dr[i];
            }
        }
        return addresses;
    }

    /** Which breakpoints are at an address, as in DR6. */
    int breakpointsAt(long linear) {
        int found = 0;
        for (int i = 0; i < COUNT; i++) {
            if ((executions >>> i & 1) != 0 && c.dr[i] == linear) {
                found |= 1 << i;
            }
        }
        return found;
    }

    /** Whether any data is watched. */
    boolean watchesData() {
        return data != 0;
    }

    /** Whether data of a page is watched. */
    boolean watches(long page) {
        if (data == 0) {
            return false;
        }
        for (int i = 0; i < COUNT; i++) {
            if ((data >>> i & 1) != 0 && (c.dr[i] & Cpu.PAGE_MASK) == page) {
                return true;
            }
        }
        return false;
    }

    /** Notes an access; the trap comes behind the instruction. */
    void access(long linear, int size, boolean write) {
        if (data == 0) {
            return;
        }
        for (int i = 0; i < COUNT; i++) {
            long first = first(i);
            if ((data >>> i & 1) != 0
                    && (write || kind(i) != WRITES)
                    && linear < first + length(i)
                    && linear + size > first) {
                hit(1 << i);
            }
        }
    }

    /** Notes an access to I/O ports. */
    void port(int port, int size) {
        if (ports == 0) {
            return;
        }
        for (int i = 0; i < COUNT; i++) {
            long first = first(i);
            if ((ports >>> i & 1) != 0 && port < first + length(i) && port + size > first) {
                hit(1 << i);
            }
        }
    }

    /** Something that traps behind the instruction. */
    void hit(int reason) {
        hits |= reason;
        c.vcpu.trapBehindInstruction();
    }

    /** What was hit since the last time. */
    int takeHits() {
        int taken = hits;
        hits = 0;
        return taken;
    }

    /** Makes the #DB of these reasons. */
    CpuFault trap(int reasons) {
        c.dr[6] = c.dr[6] & ~15L | reasons;
        return c.fault(CpuFault.DB);
    }

    /** MOV DR: #DB where the guest watches that. */
    void detect() {
        if ((c.dr[7] & GENERAL_DETECT) != 0) {
            throw trap(BD);
        }
    }

    /** A handler of #DB begins. */
    void handled() {
        c.dr[7] &= ~(long) GENERAL_DETECT;
    }

    /** A task switch ends what is enabled for the old task only. */
    void taskSwitched(boolean trapped) {
        if ((c.dr[7] & LOCAL) != 0) {
            c.dr[7] &= ~(long) LOCAL;
            changed();
        }
        if (trapped) {
            hit(BT);
        }
    }
}
