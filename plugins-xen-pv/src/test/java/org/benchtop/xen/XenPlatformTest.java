package org.benchtop.xen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeIrqChip;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a guest sees of the platform: leaves, calls, event channels, parameters, ports. */
final class XenPlatformTest {
    private static final long ARGS = XenMachine.ARGS;
    private static final int EVENTS = 32;
    private static final long SHARED = 0x4000_0000L;

    private final XenMachine machine = new XenMachine().start();
    private final FakeDeviceContext context = machine.context;

    @AfterEach
    void close() {
        machine.close();
    }

    private int[] leaf(int leaf) {
        int[] registers = new int[4];
        assertTrue(machine.platform.cpuid(1, leaf, registers));
        return registers;
    }

    @Test
    void leavesNameXenItsVersionAndTheVcpu() {
        int[] first = leaf(0x4000_0000);
        byte[] name = new byte[12];
        for (int i = 0; i < 12; i++) {
            name[i] = (byte) (first[1 + i / 4] >>> 8 * (i % 4));
        }

        assertEquals("XenVMMXenVMM", new String(name, StandardCharsets.US_ASCII));
        assertTrue(first[0] - 0x4000_0000 >= 2);
        assertEquals(4 << 16 | 17, leaf(0x4000_0001)[0]);
        assertEquals(1, leaf(0x4000_0004)[1], "vCPU");
        assertTrue((leaf(0x4000_0004)[0] & 1 << 6) != 0, "vectors of vCPUs");
        assertFalse(machine.platform.cpuid(0, 0x4000_0100, new int[4]));
    }

    @Test
    void leavesMoveAboveOthers() {
        try (XenMachine other = new XenMachine(new XenOptions("4.19", XenOptions.Mode.PVH, 0x4000_0100L), 1)) {
            assertFalse(other.platform.cpuid(0, 0x4000_0000, new int[4]));
            int[] registers = new int[4];
            assertTrue(other.platform.cpuid(0, 0x4000_0101, registers));
            assertEquals(4 << 16 | 19, registers[0]);
        }
    }

    @Test
    void hypercallPageCallsByNumber() {
        assertTrue(machine.platform.writeMsr(0, XenPlatform.HYPERCALL_PAGE_MSR, 0x5000));

        assertEquals(0xb8, machine.getBytes(0x5000 + 32 * 17, 1)[0] & 0xff);
        assertEquals(17, machine.getInt(0x5000 + 32 * 17 + 1));
        assertEquals(List.of(0x0f, 0x01, 0xc1, 0xc3), bytes(machine.getBytes(0x5000 + 32 * 17 + 5, 4)));
        assertFalse(machine.platform.writeMsr(0, XenPlatform.HYPERCALL_PAGE_MSR, 0xf_ffff_f000L), "no RAM");
        assertFalse(machine.platform.writeMsr(0, 0x4000_0001, 0));
    }

    private static List<Integer> bytes(byte[] bytes) {
        return java.util.stream.IntStream.range(0, bytes.length)
                .mapToObj(i -> bytes[i] & 0xff)
                .toList();
    }

    @Test
    void versionAndUnknownCalls() {
        assertEquals(4 << 16 | 17, machine.op(17, 0));
        assertEquals(Xen.ENOSYS, machine.op(13, 0));
        assertEquals(Xen.ENOSYS, machine.op(1000, 0));
        assertEquals(Xen.ENOSYS, machine.op(EVENTS, 99));
        assertEquals(Xen.EFAULT, machine.call(17, 6, 0xdead_beef_0000L, 0));
    }

    @Test
    void callsOfUserModeAndThirtyTwoBitCodeAreRefused() {
        assertEquals(Xen.EPERM, machine.platform.hypercall(0, new long[16], true, 3));
        assertEquals(Xen.ENOSYS, machine.platform.hypercall(0, new long[16], false, 0));
    }

    private int bindVirq(int virq, int vcpu) {
        machine.putInt(ARGS, virq);
        machine.putInt(ARGS + 4, vcpu);
        assertEquals(0, machine.op(EVENTS, 1));
        return machine.getInt(ARGS + 8);
    }

    private void setVector(int vcpu, int vector) {
        machine.putInt(ARGS, vcpu);
        machine.putByte(ARGS + 4, vector);
        assertEquals(0, machine.op(34, 23));
    }

    private int bindIpi(int vcpu) {
        machine.putInt(ARGS, vcpu);
        assertEquals(0, machine.op(EVENTS, 7));
        return machine.getInt(ARGS + 4);
    }

    private long shared(long offset) {
        return context.mmioRead(SHARED + offset, 8);
    }

    private void mapSharedInfo() {
        assertEquals(0, machine.addToPhysmap(0, 0, SHARED >>> 12));
    }

    @Test
    void eventsOfTwoLevelsReachTheVector() {
        mapSharedInfo();
        setVector(1, 0xf3);
        int port = bindIpi(1);

        machine.send(port);

        assertEquals(1L << port, shared(2048), "pending");
        assertEquals(1, shared(64 + 8), "selector of vCPU 1");
        assertEquals(1, shared(64) & 0xff, "upcall pending");
        List<FakeIrqChip.Message> messages = context.irqs().drainMessages();
        assertEquals(1, messages.size());
        assertEquals(0xf3, messages.getFirst().vector());
        assertEquals(0xfee0_1000L, messages.getFirst().address());
    }

    @Test
    void maskedEventWaitsForUnmask() {
        mapSharedInfo();
        setVector(0, 0x40);
        int port = bindIpi(0);
        context.mmioWrite(SHARED + 2560, 8, 1L << port);

        machine.send(port);
        assertEquals(0, context.irqs().drainMessages().size());
        machine.putInt(ARGS, port);
        assertEquals(0, machine.op(EVENTS, 9));

        assertEquals(1, context.irqs().drainMessages().size());
        assertEquals(0, shared(2560));
    }

    private void useFifo(long control, long array) {
        machine.putLong(ARGS, control >>> 12);
        machine.putInt(ARGS + 8, 0);
        machine.putInt(ARGS + 12, 0);
        assertEquals(0, machine.op(EVENTS, 11));
        assertEquals(17, machine.getBytes(ARGS + 16, 1)[0]);
        machine.putLong(ARGS, array >>> 12);
        assertEquals(0, machine.op(EVENTS, 12));
    }

    @Test
    void eventsQueueByFifo() {
        mapSharedInfo();
        setVector(0, 0x40);
        useFifo(0x6000, 0x7000);
        int first = bindIpi(0);
        int second = bindIpi(0);

        machine.send(first);
        machine.send(second);

        assertEquals(1 << 7, machine.getInt(0x6000), "ready");
        assertEquals(first, machine.getInt(0x6000 + 8 + 4 * 7), "head");
        assertEquals(1 << 31 | 1 << 29 | second, machine.getInt(0x7000 + 4L * first), "linked to the second");
        assertEquals(1 << 31 | 1 << 29, machine.getInt(0x7000 + 4L * second));
        assertEquals(1, context.irqs().drainMessages().size());
    }

    @Test
    void eventThatWasTheLastIsQueuedAgainByFifo() {
        mapSharedInfo();
        useFifo(0x6000, 0x7000);
        int port = bindIpi(0);
        machine.send(port);
        // The guest takes it.
        machine.putInt(0x6000, 0);
        machine.putInt(0x6000 + 8 + 4 * 7, 0);
        machine.putInt(0x7000 + 4L * port, 0);

        machine.send(port);

        assertEquals(1 << 7, machine.getInt(0x6000));
        assertEquals(port, machine.getInt(0x6000 + 8 + 4 * 7));
        assertEquals(1 << 31 | 1 << 29, machine.getInt(0x7000 + 4L * port), "not linked to itself");
    }

    @Test
    void upcallByGsiIsHeldUntilTheGuestHasTakenIt() {
        mapSharedInfo();
        machine.putShort(ARGS, 0x7ff0);
        machine.putInt(ARGS + 4, 0);
        machine.putLong(ARGS + 8, 9);
        assertEquals(0, machine.op(34, 0));
        machine.send(bindIpi(0));
        assertTrue(context.irqs().asserted(9));

        context.advance(1_000_000);
        assertTrue(context.irqs().asserted(9));
        context.mmioWrite(SHARED, 1, 0);
        context.advance(1_000_000);

        assertFalse(context.irqs().asserted(9));
    }

    @Test
    void callbackByOneVectorForAllIsRefused() {
        machine.putShort(ARGS, 0x7ff0);
        machine.putInt(ARGS + 4, 0);
        machine.putLong(ARGS + 8, 2L << 56 | 0xf3);

        assertEquals(Xen.EINVAL, machine.op(34, 0));
        machine.putInt(ARGS + 4, 2);
        assertEquals(Xen.EPERM, machine.op(34, 0), "the store's port is the domain builder's");
    }

    @Test
    void firstMessageIsRepeatedUntilTheGuestHasTakenIt() {
        mapSharedInfo();
        setVector(0, 0x40);
        machine.send(bindIpi(0));
        int sent = context.irqs().drainMessages().size();

        context.advance(5_000_000);
        assertTrue(context.irqs().drainMessages().size() > sent);
        context.mmioWrite(SHARED, 1, 0);
        context.advance(5_000_000);
        long unused = context.irqs().drainMessages().size();
        context.advance(5_000_000);

        assertEquals(0, context.irqs().drainMessages().size());
    }

    @Test
    void singleTimerSignalsItsVirq() {
        mapSharedInfo();
        int port = bindVirq(0, 1);
        machine.putLong(ARGS, context.clock().nanoTime() + 1000);
        machine.putInt(ARGS + 8, 0);
        assertEquals(0, machine.call(24, 8, 1, ARGS));
        context.advance(999);
        assertEquals(0, shared(2048) & 1L << port);

        context.advance(1);

        assertEquals(1L << port, shared(2048) & 1L << port);
        machine.putLong(ARGS, 1);
        machine.putInt(ARGS + 8, 1);
        assertEquals(Xen.ETIME, machine.call(24, 8, 1, ARGS));
    }

    @Test
    void registeredInformationTakesTheEvents() {
        mapSharedInfo();
        machine.putLong(ARGS, 0x8);
        machine.putInt(ARGS + 8, 0x40);
        assertEquals(0, machine.call(24, 10, 0, ARGS));
        assertEquals(-1L, machine.getLong(0x8048), "everything is looked at once");
        assertEquals(0, machine.getInt(0x8040 + 32) & 1, "the time's version is even");
        assertTrue(machine.getInt(0x8040 + 32) > 0);

        machine.putLong(ARGS, 0x8);
        machine.putInt(ARGS + 8, 0xfc8);
        assertEquals(Xen.EINVAL, machine.call(24, 10, 0, ARGS), "beyond the page");
    }

    @Test
    void grantTablesHaveVersionOne() {
        machine.putInt(ARGS, 2);
        assertEquals(Xen.ENOSYS, machine.call(20, 8, ARGS, 1));
        machine.putInt(ARGS, 1);
        assertEquals(0, machine.call(20, 8, ARGS, 1));
        machine.putShort(ARGS, 0x7ff0);
        assertEquals(0, machine.call(20, 6, ARGS, 1));
        assertEquals(GrantTable.MAX_FRAMES, machine.getInt(ARGS + 8));
    }

    @Test
    void memoryMapListsRam() {
        machine.putInt(ARGS, 16);
        machine.putLong(ARGS + 8, 0x9000);
        assertEquals(0, machine.op(12, 9));

        assertEquals(4, machine.getInt(ARGS));
        assertEquals(0x10_0000, machine.getLong(0x9000 + 40));
        assertEquals(XenMachine.MEMORY_BYTES - 0x10_0000, machine.getLong(0x9000 + 48));
        assertEquals(1, machine.getInt(0x9000 + 56));
    }

    @Test
    void portsAreRefusedWhereTheyMakeNoSense() {
        machine.putInt(ARGS, 5000);
        assertEquals(Xen.EINVAL, machine.op(EVENTS, 4));
        assertEquals(Xen.EINVAL, machine.op(EVENTS, 3));
        assertEquals(Xen.EINVAL, machine.op(EVENTS, 9));
        machine.putInt(ARGS, 7);
        assertEquals(Xen.ENOENT, machine.op(EVENTS, 7));
    }

    @Test
    void portsRunOutWithAnError() {
        long result = 0;
        for (int i = 0; i < EventChannels.PORTS && result == 0; i++) {
            machine.putInt(ARGS, 0);
            result = machine.op(EVENTS, 7);
        }

        assertEquals(Xen.ENOSPC, result);
    }

    @Test
    void unplugProtocolAnswersAndHidesDisks() {
        assertEquals(0x49d2, context.pioRead(0x10, 2));
        assertEquals(1, context.pioRead(0x12, 1));
        assertTrue(PlatformPci.asked(1, 0x0101));
        assertTrue(PlatformPci.asked(1, 0x0106));
        assertTrue(PlatformPci.asked(2, 0x0200));
        assertFalse(PlatformPci.asked(3, 0x0100), "virtio and SCSI stay");
        assertFalse(PlatformPci.asked(2, 0x0101));

        context.pioWrite(0x10, 2, 3);
        machine.platform.reset();
    }

    @Test
    void shutdownReasonsReachTheMachine() {
        machine.putInt(ARGS, 0);
        assertEquals(0, machine.op(29, 2));
        machine.putInt(ARGS, 1);
        assertEquals(0, machine.op(29, 2));
        machine.putInt(ARGS, 3);
        assertEquals(0, machine.op(29, 2));
        machine.putInt(ARGS, 77);
        assertEquals(Xen.EINVAL, machine.op(29, 2));

        assertEquals(
                3,
                context.machine().requests().size(),
                context.machine().requests().toString());
    }

    @Test
    void softResetClosesPortsAndBuildsTheTreeAnew() {
        int port = machine.allocatePort();
        machine.store().write("/local/domain/1/data/left", "over");
        machine.putInt(ARGS, 5);

        assertEquals(0, machine.op(29, 2));

        machine.putInt(ARGS, port);
        assertEquals(Xen.EINVAL, machine.op(EVENTS, 3));
        assertTrue(machine.store().read("/local/domain/1/data/left").isEmpty());
        assertEquals("1", machine.store().read("/local/domain/1/domid").orElse(""));
    }

    @Test
    void versionsThatMakeNoSenseAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> new XenOptions("four", XenOptions.Mode.HVM, 0x4000_0000L));
        assertThrows(IllegalArgumentException.class, () -> new XenOptions("4.17", XenOptions.Mode.HVM, 0x4000_0010L));
    }
}
