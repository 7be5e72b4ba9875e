package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.benchtop.engine.kvm.KvmGuest.Access;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KvmExitTest {
    @Test
    void portAccessesReachTheHostWithSizeAndValue() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    b0 12            # mov al,0x12
                    e6 10            # out 0x10,al
                    66 b8 56 34      # mov ax,0x3456
                    66 e7 12         # out 0x12,ax
                    b8 de bc 9a 78   # mov eax,0x789abcde
                    66 ba 10 05      # mov dx,0x510
                    ef               # out dx,eax
                    e4 28            # in al,0x28
                    66 e5 22         # in ax,0x22
                    89 c3            # mov ebx,eax
                    ed               # in eax,dx
                    e6 f4            # out 0xf4,al
                    """);
            guest.reads.addAll(List.of(0xaaL, 0xbbccL, 0xdead_beefL));

            guest.run();

            assertEquals(
                    List.of(
                            new Access("out", 0x10, 1, 0x12),
                            new Access("out", 0x12, 2, 0x3456),
                            new Access("out", 0x510, 4, 0x789a_bcdeL),
                            new Access("in", 0x28, 1, 0xaa),
                            new Access("in", 0x22, 2, 0xbbcc),
                            new Access("in", 0x510, 4, 0xdead_beefL)),
                    guest.accesses);
            assertEquals(0x789a_bbccL, guest.vcpu().registers().rbx());
            assertEquals(0xdead_beefL, guest.vcpu().registers().rax());
        }
    }

    @Test
    void stringPortAccessesMoveEveryElement() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    66 ba f0 01      # mov dx,0x1f0
                    be 00 00 02 00   # mov esi,0x20000
                    b9 03 00 00 00   # mov ecx,3
                    66 f3 6f         # rep outsw
                    bf 00 10 02 00   # mov edi,0x21000
                    b9 04 00 00 00   # mov ecx,4
                    f3 6c            # rep insb
                    e6 f4            # out 0xf4,al
                    """);
            guest.code(0x2_0000, "11 22 33 44 55 66");
            guest.reads.addAll(List.of(1L, 2L, 3L, 4L));

            guest.run();

            assertEquals(
                    List.of(
                            new Access("out", 0x1f0, 2, 0x2211),
                            new Access("out", 0x1f0, 2, 0x4433),
                            new Access("out", 0x1f0, 2, 0x6655)),
                    guest.accesses.subList(0, 3));
            assertEquals(7, guest.accesses.size());
            assertEquals(0x0403_0201, guest.word(0x2_1000));
        }
    }

    @Test
    void memoryAccessesReachTheHostWithSizeAndValue() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    c6 05 01 00 00 d0 5a              # mov byte [0xd0000001],0x5a
                    66 c7 05 02 00 00 d0 5b 5a        # mov word [0xd0000002],0x5a5b
                    c7 05 04 00 00 d0 44 33 22 f1     # mov dword [0xd0000004],0xf1223344
                    a0 09 00 00 d0                    # mov al,[0xd0000009]
                    88 c3                             # mov bl,al
                    a1 0c 00 00 d0                    # mov eax,[0xd000000c]
                    e6 f4                             # out 0xf4,al
                    """);
            guest.reads.addAll(List.of(0x77L, 0xfeed_f00dL));

            guest.run();

            assertEquals(
                    List.of(
                            new Access("write", 0xd000_0001L, 1, 0x5a),
                            new Access("write", 0xd000_0002L, 2, 0x5a5b),
                            new Access("write", 0xd000_0004L, 4, 0xf122_3344L),
                            new Access("read", 0xd000_0009L, 1, 0x77),
                            new Access("read", 0xd000_000cL, 4, 0xfeed_f00dL)),
                    guest.accesses);
            assertEquals(0x77, guest.vcpu().registers().rbx());
            assertEquals(0xfeed_f00dL, guest.vcpu().registers().rax());
        }
    }

    @Test
    void exitsAreCountedByReason() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    b9 05 00 00 00                    # mov ecx,5
                    e6 10                             # 1: out 0x10,al
                    e4 28                             # in al,0x28
                    c6 05 01 00 00 d0 5a              # mov byte [0xd0000001],0x5a
                    49                                # dec ecx
                    75 f2                             # jnz 1b
                    a1 0c 00 00 d0                    # mov eax,[0xd000000c]
                    e6 f4                             # out 0xf4,al
                    """);

            guest.run();

            Map<String, Long> counts = guest.vcpu().exits().byReason();
            assertEquals(6, counts.get("pio-out"));
            assertEquals(5, counts.get("pio-in"));
            assertEquals(5, counts.get("mmio-write"));
            assertEquals(1, counts.get("mmio-read"));
            assertEquals(1, counts.get("kick"));
            assertEquals(
                    counts.values().stream().mapToLong(Long::longValue).sum(),
                    guest.vcpu().exits().total());
        }
    }

    @Test
    void tripleFaultIsShutdown() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    0f 01 1d 00 00 03 00              # lidt [0x30000]: limit 0
                    0f 0b                             # ud2
                    """);

            VcpuExit exit = guest.run();

            assertInstanceOf(VcpuExit.Shutdown.class, exit);
            assertEquals(1, guest.vcpu().exits().byReason().get("shutdown"));
        }
    }

    @Test
    void instructionThatKvmCannotEmulateIsReportedWithItsBytes() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    90                                # nop
                    62 05 00 00 00 d0                 # bound eax,[0xd0000000]
                    f4 f4 f4 f4 f4 f4 f4 f4 f4 f4
                    """);

            VcpuExit.Failed failed = assertInstanceOf(VcpuExit.Failed.class, guest.run());

            assertEquals(KvmGuest.CODE + 1, failed.rip());
            assertTrue(failed.reason().contains("suberror 1"), failed.reason());
            String bytes = HexFormat.of().formatHex(failed.instructionBytes());
            assertTrue(bytes.startsWith("6205000000d0"), bytes);
        }
    }

    @Test
    void jumpOutOfMemoryIsReportedWithoutBytes() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.code(KvmGuest.CODE, """
                    b8 00 00 00 d0                    # mov eax,0xd0000000
                    ff e0                             # jmp eax
                    """);

            VcpuExit.Failed failed = assertInstanceOf(VcpuExit.Failed.class, guest.run());

            assertEquals(0xd000_0000L, failed.rip());
            assertTrue(failed.reason().startsWith("KVM_EXIT_INTERNAL_ERROR"), failed.reason());
            assertArrayEquals(new byte[0], failed.instructionBytes());
        }
    }

    @Test
    void msrsThatKvmDoesNotKnowGoToTheHost() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.msrs.put(0x12345, 0x1111_2222_3333_4444L);
            guest.code(KvmGuest.CODE, """
                    b9 45 23 01 00                    # mov ecx,0x12345
                    0f 32                             # rdmsr
                    40                                # inc eax
                    0f 30                             # wrmsr
                    e6 f4                             # out 0xf4,al
                    """);

            guest.run();

            assertEquals(0x1111_2222_3333_4445L, guest.msrs.get(0x12345));
            assertEquals(1, guest.vcpu().exits().byReason().get("rdmsr"));
        }
    }

    @Test
    void msrThatTheHostRefusesRaisesGeneralProtection() {
        try (KvmGuest guest = new KvmGuest()) {
            guest.gate(13, 0x1_1000);
            guest.code(0x1_1000, "b0 0d e6 80 e6 f4"); // mov al,13; out 0x80,al; out 0xf4,al
            guest.code(KvmGuest.CODE, """
                    b9 45 23 01 00                    # mov ecx,0x12345
                    0f 32                             # rdmsr
                    """);

            guest.run();

            assertEquals(List.of(new Access("out", 0x80, 1, 13)), guest.accesses);
        }
    }

    @Test
    void coalescedWritesArriveInOrderBeforeTheNextExit() throws Exception {
        try (KvmGuest guest = new KvmGuest();
                AutoCloseable memory =
                        guest.vm.coalesce(AddressSpace.MMIO, 0xd000_0000L, 16).orElseThrow()) {
            guest.code(KvmGuest.CODE, """
                    c6 05 01 00 00 d0 01              # mov byte [0xd0000001],1
                    c7 05 04 00 00 d0 02 00 00 00     # mov dword [0xd0000004],2
                    e6 10                             # out 0x10,al
                    e6 f4                             # out 0xf4,al
                    """);

            guest.run();

            assertEquals(
                    List.of(
                            new Access("write", 0xd000_0001L, 1, 1),
                            new Access("write", 0xd000_0004L, 4, 2),
                            new Access("out", 0x10, 1, 0)),
                    guest.accesses);
            assertEquals(0, guest.vcpu().exits().byReason().getOrDefault("mmio-write", 0L));
            assertTrue(memory != null);
        }
    }

    @Test
    void flightRecorderSeesExits(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("exits.jfr");
        try (KvmGuest guest = new KvmGuest();
                Recording recording = new Recording()) {
            recording.enable("org.benchtop.VmExit").withoutThreshold();
            recording.start();
            guest.code(KvmGuest.CODE, """
                    66 ba 10 05                       # mov dx,0x510
                    66 ef                             # out dx,ax
                    a1 0c 00 00 d0                    # mov eax,[0xd000000c]
                    e6 f4                             # out 0xf4,al
                    """);

            guest.run();

            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("org.benchtop.VmExit"))
                .toList();
        RecordedEvent out = events.getFirst();
        assertEquals("pio-out", out.getString("reason"));
        assertEquals(0x510, out.getLong("address"));
        assertEquals(2, out.getInt("size"));
        assertEquals("test", out.getString("machine"));
        assertTrue(out.getDuration().isPositive());
        assertEquals("mmio-read", events.get(1).getString("reason"));
        assertEquals(0xd000_000cL, events.get(1).getLong("address"));
    }
}
