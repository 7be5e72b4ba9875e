package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.engine.kvm.KvmGuest.Access;
import org.benchtop.engine.linux.LinuxEventLoop;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.memory.MemoryAccess;
import org.junit.jupiter.api.Test;

class KvmMemoryTest {
    @Test
    void matchingWritesRingTheDoorbellWithoutAnExit() throws Exception {
        AtomicInteger portRings = new AtomicInteger();
        AtomicInteger memoryRings = new AtomicInteger();
        AtomicInteger anySizeRings = new AtomicInteger();
        try (KvmGuest guest = new KvmGuest();
                LinuxEventLoop loop = LinuxEventLoop.start("test");
                Doorbell port = loop.doorbell("port", portRings::incrementAndGet);
                Doorbell memory = loop.doorbell("memory", memoryRings::incrementAndGet);
                Doorbell anySize = loop.doorbell("any", anySizeRings::incrementAndGet);
                AutoCloseable a = guest.vm
                        .addIoEvent(AddressSpace.PIO, 0x510, IoEventMatch.value(2, 7), port)
                        .orElseThrow();
                AutoCloseable b = guest.vm
                        .addIoEvent(AddressSpace.MMIO, 0xd000_0000L, IoEventMatch.anyValue(4), memory)
                        .orElseThrow();
                AutoCloseable c = guest.vm
                        .addIoEvent(AddressSpace.MMIO, 0xd000_0010L, IoEventMatch.anyValue(0), anySize)
                        .orElseThrow()) {
            guest.code(KvmGuest.CODE, """
                    66 ba 10 05                       # mov dx,0x510
                    b8 07 00 00 00                    # mov eax,7
                    66 ef                             # out dx,ax: rings
                    ee                                # out dx,al: another size
                    40                                # inc eax
                    66 ef                             # out dx,ax: another value
                    c7 05 00 00 00 d0 44 33 22 11     # mov dword [0xd0000000],0x11223344: rings
                    c6 05 00 00 00 d0 5a              # mov byte [0xd0000000],0x5a: another size
                    c6 05 10 00 00 d0 5a              # mov byte [0xd0000010],0x5a: rings
                    e6 f4                             # out 0xf4,al
                    """);

            guest.run();

            guest.await("rings", () -> portRings.get() + memoryRings.get() + anySizeRings.get() >= 3);
            assertEquals(
                    List.of(
                            new Access("out", 0x510, 1, 7),
                            new Access("out", 0x510, 2, 8),
                            new Access("write", 0xd000_0000L, 1, 0x5a)),
                    guest.accesses);
            assertTrue(a != b && b != c);
        }
    }

    @Test
    void removedIoEventLetsTheWriteThroughEvenAfterItsDoorbellIsClosed() throws Exception {
        try (KvmGuest guest = new KvmGuest();
                LinuxEventLoop loop = LinuxEventLoop.start("test")) {
            Doorbell doorbell = loop.doorbell("gone", () -> {});
            AutoCloseable event = guest.vm
                    .addIoEvent(AddressSpace.PIO, 0x510, IoEventMatch.anyValue(2), doorbell)
                    .orElseThrow();
            doorbell.close();
            event.close();
            event.close();
            guest.code(KvmGuest.CODE, "66 ba 10 05 66 ef e6 f4"); // mov dx,0x510; out dx,ax; out 0xf4,al

            guest.run();

            assertEquals(List.of(new Access("out", 0x510, 2, 0)), guest.accesses);
        }
    }

    @Test
    void secondEqualIoEventIsRefused() {
        try (KvmGuest guest = new KvmGuest();
                LinuxEventLoop loop = LinuxEventLoop.start("test");
                Doorbell doorbell = loop.doorbell("twice", () -> {})) {
            guest.vm.addIoEvent(AddressSpace.PIO, 0x510, IoEventMatch.anyValue(2), doorbell);

            BenchtopException e = assertThrows(
                    BenchtopException.class,
                    () -> guest.vm.addIoEvent(AddressSpace.PIO, 0x510, IoEventMatch.anyValue(2), doorbell));

            assertTrue(String.valueOf(e.getMessage()).contains("PIO 0x510"), e.getMessage());
        }
    }

    @Test
    void writesToReadOnlyMemoryReachTheHostAndChangeNothing() {
        try (KvmGuest guest = new KvmGuest();
                Arena arena = Arena.ofShared()) {
            MemorySegment rom = arena.allocate(0x1_0000, 0x1000);
            rom.set(ValueLayout.JAVA_INT, 0x10, 0x1234_5678);
            guest.vm.mapMemory(1, 0xe000_0000L, rom, MemoryAccess.READ_ONLY);
            guest.code(KvmGuest.CODE, """
                    a1 10 00 00 e0                    # mov eax,[0xe0000010]
                    a3 00 00 02 00                    # mov [0x20000],eax
                    c7 05 10 00 00 e0 01 00 00 00     # mov dword [0xe0000010],1
                    e6 f4                             # out 0xf4,al
                    """);

            guest.run();
            guest.vm.close();

            assertEquals(0x1234_5678, guest.word(0x2_0000));
            assertEquals(0x1234_5678, rom.get(ValueLayout.JAVA_INT, 0x10));
            assertEquals(List.of(new Access("write", 0xe000_0010L, 4, 1)), guest.accesses);
        }
    }

    @Test
    void slotCanBeReplacedUnmappedAndMovedWithAccessNone() {
        try (KvmGuest guest = new KvmGuest();
                Arena arena = Arena.ofShared()) {
            MemorySegment one = arena.allocate(0x1000, 0x1000);
            MemorySegment two = arena.allocate(0x2000, 0x1000);
            two.set(ValueLayout.JAVA_INT, 0, 2);
            guest.vm.mapMemory(1, 0xe000_0000L, one, MemoryAccess.READ_WRITE);
            guest.vm.mapMemory(1, 0xe001_0000L, two, MemoryAccess.READ_WRITE);
            guest.vm.mapMemory(2, 0xe002_0000L, one, MemoryAccess.READ_WRITE);
            guest.vm.mapMemory(2, 0xe002_0000L, one, MemoryAccess.NONE);
            guest.code(KvmGuest.CODE, """
                    a1 00 00 00 e0                    # mov eax,[0xe0000000]: nothing there any more
                    a1 00 00 01 e0                    # mov eax,[0xe0010000]
                    a3 00 00 02 00                    # mov [0x20000],eax
                    a1 00 00 02 e0                    # mov eax,[0xe0020000]: not visible
                    e6 f4                             # out 0xf4,al
                    """);

            guest.run();
            guest.vm.close();

            assertEquals(2, guest.word(0x2_0000));
            assertEquals(
                    List.of(new Access("read", 0xe000_0000L, 4, 0), new Access("read", 0xe002_0000L, 4, 0)),
                    guest.accesses);
        }
    }

    /** The guest's own code and data lie in the slot: if a vCPU saw it missing, the access would reach the host. */
    @Test
    void slotIsReplacedUnderARunningVcpuWithoutAGap() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    ff 05 00 00 02 00                 # 1: inc dword [0x20000]
                    eb f8                             # jmp 1b
                    """);
            Thread thread = guest.start(guest.vcpu());
            guest.await("running", () -> guest.word(0x2_0000) > 10);

            for (int i = 0; i < 200; i++) {
                guest.vm.mapMemory(
                        0, 0, guest.ram.asSlice(0, KvmGuest.RAM_BYTES - 0x1000 * (i % 2)), MemoryAccess.READ_WRITE);
            }
            int after = guest.word(0x2_0000);
            guest.await("still running", () -> guest.word(0x2_0000) > after + 10);

            guest.stop(thread);
            assertEquals(List.of(), guest.accesses);
        }
    }

    @Test
    void dirtyLogHasThePagesThatTheGuestWroteSinceTheLastLook() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    c7 05 00 00 02 00 01 00 00 00     # mov dword [0x20000],1
                    c7 05 fc 4f 04 00 01 00 00 00     # mov dword [0x44ffc],1
                    e6 f4                             # out 0xf4,al
                    """);
            long[] first = new long[8];
            long[] second = new long[8];
            guest.vm.logDirty(true);
            guest.vm.collectDirty(0, new long[8]);

            guest.run();
            guest.vm.collectDirty(0, first);
            guest.vm.collectDirty(0, second);

            assertEquals(1L << 0x20, first[0] & 1L << 0x20);
            assertEquals(1L << (0x44 - 64), first[1] & 1L << (0x44 - 64));
            assertEquals(0, first[1] & ~(1L << (0x44 - 64)) & ~(1L << (0x7f - 64)));
            assertArrayEquals(new long[8], second);
        }
    }

    @Test
    void slotThatIsNotMadeOfPagesIsRefused() {
        try (KvmGuest guest = new KvmGuest()) {
            MemorySegment odd = guest.ram.asSlice(0x10, 0x1000);

            assertThrows(
                    BenchtopException.class, () -> guest.vm.mapMemory(1, 0xe000_0000L, odd, MemoryAccess.READ_WRITE));
            assertThrows(
                    BenchtopException.class,
                    () -> guest.vm.mapMemory(-1, 0xe000_0000L, guest.ram, MemoryAccess.READ_WRITE));
        }
    }

    @Test
    void overlappingSlotIsRefusedAndNamesTheRange() {
        try (KvmGuest guest = new KvmGuest();
                Arena arena = Arena.ofShared()) {
            MemorySegment page = arena.allocate(0x1000, 0x1000);

            BenchtopException e = assertThrows(
                    BenchtopException.class, () -> guest.vm.mapMemory(1, 0x1000, page, MemoryAccess.READ_WRITE));

            assertTrue(String.valueOf(e.getMessage()).contains("gpa=0x1000 size=0x1000"), e.getMessage());
            guest.vm.close();
        }
    }
}
