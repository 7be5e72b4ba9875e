package org.benchtop.xen;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.FakeVcpu;
import org.benchtop.xen.store.XenStore;

/** A machine with a Xen platform, whose guest is the test: virtual addresses are physical ones. */
final class XenMachine implements AutoCloseable {
    static final long ARGS = 0x1000;
    static final long GRANT_PAGES = 0x2000_0000L;
    static final long MEMORY_BYTES = 16 << 20;
    static final long CALL_EVENTS = 32;

    final FakeDeviceContext context = new FakeDeviceContext("machine", FakeGuestMemory.ofSize(MEMORY_BYTES));
    final XenPlatform platform;
    private final List<Device> devices = new ArrayList<>();
    private int nextReference = 8;
    private long nextPage = 0x10_0000;

    XenMachine() {
        this(new XenOptions("4.17", XenOptions.Mode.HVM, 0x4000_0000L), 2);
    }

    XenMachine(XenOptions options, int cpus) {
        context.machine().cpus(cpus);
        for (int i = 0; i < cpus; i++) {
            context.machine().vcpu(new FakeVcpu(i, context.clock()));
        }
        platform = new XenPlatform("xen", options);
        add(platform, "xen");
    }

    /** Attaches a device. */
    <D extends Device> D add(D device, String id) {
        device.attach(context.device(id));
        devices.add(device);
        return device;
    }

    /** Resets all devices in order, as the machine does, and lets the guest map its grant table. */
    XenMachine start() {
        devices.forEach(Device::reset);
        context.runPending();
        mapGrants();
        return this;
    }

    void mapGrants() {
        for (int i = 0; i < 2; i++) {
            addToPhysmap(1, i, (GRANT_PAGES >>> 12) + i);
        }
    }

    XenStore store() {
        return platform.store();
    }

    /** A hypercall of vCPU 0 from ring 0 in 64-bit mode. */
    long call(long number, long a0, long a1, long a2) {
        long[] registers = new long[16];
        registers[0] = number;
        registers[7] = a0;
        registers[6] = a1;
        registers[2] = a2;
        return platform.hypercall(0, registers, true, 0);
    }

    /** A hypercall with an operation and a structure at {@link #ARGS}. */
    long op(long number, int operation) {
        return call(number, operation, ARGS, 0);
    }

    long addToPhysmap(int space, long index, long frame) {
        putShort(ARGS, 0x7ff0);
        putInt(ARGS + 4, space);
        putLong(ARGS + 8, index);
        putLong(ARGS + 16, frame);
        return op(12, 7);
    }

    /** Allocates a port that waits for a backend. */
    int allocatePort() {
        putShort(ARGS, 0x7ff0);
        putShort(ARGS + 2, 0);
        long result = op(CALL_EVENTS, 6);
        if (result != 0) {
            throw new AssertionError("alloc_unbound: " + result);
        }
        return getInt(ARGS + 4);
    }

    /** Notifies a port and lets loops run. */
    void send(int port) {
        putInt(ARGS, port);
        long unused = op(CALL_EVENTS, 4);
        context.runPending();
    }

    /** A fresh page. */
    long page() {
        nextPage += 0x1000;
        return nextPage - 0x1000;
    }

    /** Grants a page to the backend; returns the reference. */
    int grant(long gpa, boolean readOnly) {
        int reference = nextReference++;
        entry(reference, 1 | (readOnly ? 4 : 0), (int) (gpa >>> 12));
        return reference;
    }

    /** Writes a grant entry. */
    void entry(int reference, int header, int frame) {
        context.mmioWrite(GRANT_PAGES + 8L * reference, 4, header & 0xffff_ffffL);
        context.mmioWrite(GRANT_PAGES + 8L * reference + 4, 4, frame & 0xffff_ffffL);
    }

    int entryFlags(int reference) {
        return (int) context.mmioRead(GRANT_PAGES + 8L * reference, 2);
    }

    private interface Access<T> {
        T run() throws GuestFault;
    }

    private static <T> T access(Access<T> access) {
        try {
            return access.run();
        } catch (GuestFault e) {
            throw new AssertionError(e);
        }
    }

    void putByte(long gpa, int value) {
        access(() -> {
            context.memory().writeByte(gpa, (byte) value);
            return 0;
        });
    }

    void putShort(long gpa, int value) {
        access(() -> {
            context.memory().writeShort(gpa, (short) value);
            return 0;
        });
    }

    void putInt(long gpa, int value) {
        access(() -> {
            context.memory().writeInt(gpa, value);
            return 0;
        });
    }

    void putLong(long gpa, long value) {
        access(() -> {
            context.memory().writeLong(gpa, value);
            return 0;
        });
    }

    void putBytes(long gpa, byte[] bytes) {
        access(() -> {
            context.memory().write(gpa, bytes, 0, bytes.length);
            return 0;
        });
    }

    byte[] getBytes(long gpa, int length) {
        byte[] bytes = new byte[length];
        return access(() -> {
            context.memory().read(gpa, bytes, 0, length);
            return bytes;
        });
    }

    int getShort(long gpa) {
        return access(() -> context.memory().readShort(gpa) & 0xffff);
    }

    int getInt(long gpa) {
        return access(() -> context.memory().readInt(gpa));
    }

    long getLong(long gpa) {
        return access(() -> context.memory().readLong(gpa));
    }

    @Override
    public void close() {
        for (Device device : devices.reversed()) {
            device.close();
        }
    }
}
