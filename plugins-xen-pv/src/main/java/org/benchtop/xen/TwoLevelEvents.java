package org.benchtop.xen;

import java.lang.foreign.MemorySegment;

/** Two levels of bit maps: selectors in each vCPU's information, pending and mask bits in the shared information page. */
final class TwoLevelEvents implements EventAbi {
    /** 64 selectors of 64 bits. */
    static final int PORTS = 4096;

    private static final long PENDING = 2048;
    private static final long MASK = 2560;

    private final MemorySegment shared;
    private final VcpuInfos infos;

    TwoLevelEvents(MemorySegment shared, VcpuInfos infos) {
        this.shared = shared;
        this.infos = infos;
    }

    private static long word(long table, int port) {
        return table + (port >>> 6) * 8L;
    }

    @Override
    public boolean setPending(int port, int vcpu, int priority) {
        long bit = 1L << port;
        long old = (long) Xen.LONGS.getAndBitwiseOr(shared, word(PENDING, port), bit);
        return (old & bit) == 0 && !masked(port) && infos.select(vcpu, port >>> 6);
    }

    @Override
    public boolean remind(int port, int vcpu, int priority) {
        return infos.select(vcpu, port >>> 6);
    }

    @Override
    public boolean unmask(int port) {
        long bit = 1L << port;
        long old = (long) Xen.LONGS.getAndBitwiseAnd(shared, word(MASK, port), ~bit);
        return (old & bit) != 0 && pending(port);
    }

    @Override
    public void clear(int port) {
        Object unused = (long) Xen.LONGS.getAndBitwiseAnd(shared, word(PENDING, port), ~(1L << port));
    }

    @Override
    public boolean pending(int port) {
        return ((long) Xen.LONGS.getVolatile(shared, word(PENDING, port)) & 1L << port) != 0;
    }

    @Override
    public boolean masked(int port) {
        return ((long) Xen.LONGS.getVolatile(shared, word(MASK, port)) & 1L << port) != 0;
    }
}
