package org.benchtop.softcpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import org.benchtop.spi.cpu.VcpuExit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processors that run at the same time share memory and decoded code as x86 processors do. */
@Timeout(300)
class MultiprocessorTest {
    private static final int CPUS = 4;
    private static final int CODE = 0x10_0000;
    private static final int DATA = 0x12_0000;
    private static final int STACKS = 0x14_0000;

    private final TestMachine machine = new TestMachine(CPUS);
    private final List<SoftVcpu> vcpus = new ArrayList<>();

    @BeforeEach
    void start() {
        machine.longMode();
        machine.map(CODE, CODE, 0x8000, 3);
        machine.map(DATA, DATA, 0x3000, 3);
        machine.map(STACKS, STACKS, 0x8000, 3);
        vcpus.add(machine.vcpu);
        for (int i = 1; i < CPUS; i++) {
            SoftVcpu vcpu = machine.vm.createVcpu(i);
            vcpu.specialRegisters(machine.vcpu.specialRegisters());
            vcpus.add(vcpu);
        }
    }

    @AfterEach
    void close() {
        machine.close();
    }

    /** Instructions in hexadecimal and jumps to labels. */
    private static final class Code {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final Map<String, Integer> labels = new HashMap<>();

        Code hex(String bytes) {
            out.writeBytes(HexFormat.of().parseHex(bytes.replace(" ", "")));
            return this;
        }

        /** An instruction with an absolute 32-bit address behind it. */
        Code at(String bytes, int address) {
            hex(bytes);
            for (int i = 0; i < 4; i++) {
                out.write(address >> 8 * i);
            }
            return this;
        }

        Code label(String name) {
            labels.put(name, out.size());
            return this;
        }

        /** A short jump backwards. */
        Code back(int opcode, String name) {
            Integer target = labels.get(name);
            return hex(HexFormat.of().toHexDigits((byte) opcode)
                    + HexFormat.of().toHexDigits((byte) ((target == null ? 0 : target) - out.size() - 2)));
        }
    }

    private void load(int address, Code code) {
        machine.write(address, code.out.toByteArray());
    }

    /** Runs every processor at its address, which 0 leaves out, until all have halted. */
    private void run(int... addresses) throws Exception {
        List<FutureTask<VcpuExit>> runs = new ArrayList<>();
        int started =
                (int) java.util.Arrays.stream(addresses).filter(a -> a != 0).count();
        CyclicBarrier together = new CyclicBarrier(started);
        for (int i = 0; i < addresses.length; i++) {
            if (addresses[i] == 0) {
                continue;
            }
            SoftVcpu vcpu = vcpus.get(i);
            vcpu.cpu().rip = addresses[i];
            vcpu.cpu().r[Cpu.RSP] = STACKS + 0x1000L * i + 0xff0;
            FutureTask<VcpuExit> run = new FutureTask<>(() -> {
                together.await();
                return vcpu.run();
            });
            runs.add(run);
            Thread thread = new Thread(run, "vcpu" + i);
            thread.setDaemon(true);
            thread.start();
        }
        for (FutureTask<VcpuExit> run : runs) {
            assertInstanceOf(VcpuExit.Halted.class, run.get());
        }
    }

    @Test
    void translationRepeatsNothingThatAnotherProcessorIsInside() throws Exception {
        int rounds = 15;
        int loops = 60_000;
        int perLoop = 20;
        // All processors together: while they are in the loop.
        machine.vm.hot(2 * loops);
        for (int round = 0; round < rounds; round++) {
            // Two blocks, so that the end of the first does not lead to its start.
            Code code = new Code()
                    .label("loop")
                    .hex("48ffc0".repeat(perLoop))
                    .hex("eb00 48ffc9")
                    .back(0x75, "loop")
                    .hex("f4");
            int address = CODE + round * 256;
            load(address, code);
            for (SoftVcpu vcpu : vcpus) {
                vcpu.cpu().r[Cpu.RAX] = 0;
                vcpu.cpu().r[Cpu.RCX] = loops;
            }

            run(address, address, address, address);

            for (SoftVcpu vcpu : vcpus) {
                assertEquals((long) loops * perLoop, vcpu.cpu().r[Cpu.RAX], "round " + round);
            }
        }
    }

    @Test
    void codeThatAnotherProcessorHasChangedIsNotExecutedAfterItsFlag() throws Exception {
        int changes = 30_000;
        int ready = DATA + 0x80;
        int function = CODE + 0x1003;
        int flag = DATA + 0x40;
        // mov eax, 0; ret
        load(function, new Code().hex("b8 00000000 c3"));
        // wait: cmp dword [ready], 2; jb wait; mov edx, 1; loop: mov [function + 1], edx; mov [flag], edx; inc edx; cmp
        // edx, changes; jne loop; hlt
        load(
                CODE,
                new Code()
                        .label("wait")
                        .at("833c25", ready)
                        .hex("02")
                        .back(0x72, "wait")
                        .hex("ba 01000000")
                        .label("loop")
                        .at("891425", function + 1)
                        .at("891425", flag)
                        .hex("ffc2")
                        .at("81fa", changes)
                        .back(0x75, "loop")
                        .hex("f4"));
        // lock inc dword [ready]; loop: mov esi, [flag]; xor eax, eax; cpuid; call function; cmp eax, esi; jb fails;
        // cmp esi, changes - 1;
        // jne loop; hlt; fails: mov edi, 1; hlt
        int reader = CODE + 0x2000;
        Code code = new Code()
                .at("f0ff0425", ready)
                .label("loop")
                .at("8b3425", flag)
                .hex("31c0 0fa2")
                .at("e8", function - (reader + 8 + 7 + 4 + 5))
                .hex("39f0 7209")
                .at("81fe", changes - 1)
                .back(0x75, "loop")
                .hex("f4 bf 01000000 f4");
        load(reader, code);

        run(CODE, reader, reader, 0);

        assertEquals(0, vcpus.get(1).cpu().r[Cpu.RDI]);
        assertEquals(0, vcpus.get(2).cpu().r[Cpu.RDI]);
    }

    @Test
    void lockedOperationsAreAtomicBetweenProcessors() throws Exception {
        int loops = 3000;
        int words = DATA;
        int split = DATA + 0x47;
        int added = DATA + 0x80;
        int acrossPages = DATA + 0xffc;
        int pair = DATA + 0x100;
        int spin = DATA + 0x143;
        int guarded = DATA + 0x180;
        Code code = new Code()
                .at("bd", loops)
                .label("loop")
                // lock inc qword [words]; lock add word [split], 1; mov eax, 1; lock xadd [added], eax
                .at("f048ff0425", words)
                .at("f0668304 25", split)
                .hex("01 b8 01000000")
                .at("f00fc10425", added)
                // lock inc qword [acrossPages]
                .at("f048ff0425", acrossPages)
                // mov rax, [pair]; mov rdx, [pair + 8]
                .at("488b0425", pair)
                .at("488b1425", pair + 8)
                // lea rbx, [rax + 1]; lea rcx, [rdx + 2]; lock cmpxchg16b [pair]; jnz
                .label("again")
                .hex("488d5801 488d4a02")
                .at("f0480fc70c25", pair)
                .back(0x75, "again")
                // mov al, 1; xchg [spin], al; test al, al; jnz; inc qword [guarded]; mov byte [spin], 0
                .label("wait")
                .hex("b001")
                .at("860425", spin)
                .hex("84c0")
                .back(0x75, "wait")
                .at("48ff0425", guarded)
                .at("c60425", spin)
                .hex("00")
                .hex("ffcd")
                .back(0x75, "loop")
                .hex("f4");
        load(CODE, code);

        run(CODE, CODE, CODE, CODE);

        long all = (long) CPUS * loops;
        assertEquals(all, machine.read64(words));
        assertEquals(all, machine.read64(split) & 0xffff);
        assertEquals(all, machine.read64(added) & 0xffff_ffffL);
        assertEquals(all, machine.read64(acrossPages));
        assertEquals(all, machine.read64(pair));
        assertEquals(2 * all, machine.read64(pair + 8));
        assertEquals(all, machine.read64(guarded));
    }

    @Test
    void translatedLoadsAndStoresStayInOrder() throws Exception {
        int loops = 2_000_000;
        int sequence = DATA;
        int x = DATA + 0x40;
        int y = DATA + 0x80;
        machine.vm.hot(500);
        // loop: inc qword [sequence]; inc qword [x]; inc qword [y]; inc qword [sequence]; dec rcx; jnz loop; hlt
        load(
                CODE,
                new Code()
                        .label("loop")
                        .at("48ff0425", sequence)
                        .at("48ff0425", x)
                        .at("48ff0425", y)
                        .at("48ff0425", sequence)
                        .hex("48ffc9")
                        .back(0x75, "loop")
                        .hex("f4"));
        // loop: mov rax, [sequence]; mov rbx, [x]; mov rdx, [y]; mov rsi, [sequence]; cmp rax, rsi; jne next; test al,
        // 1;
        // jne next; cmp rbx, rdx; jne torn; next: dec rcx; jnz loop; hlt; torn: mov edi, 1; hlt
        int reader = CODE + 0x2000;
        load(
                reader,
                new Code()
                        .label("loop")
                        .at("488b0425", sequence)
                        .at("488b1c25", x)
                        .at("488b1425", y)
                        .at("488b3425", sequence)
                        .hex("4839f0 7509 a801 7505 4839d3 7506")
                        .hex("48ffc9")
                        .back(0x75, "loop")
                        .hex("f4 bf 01000000 f4"));
        for (SoftVcpu vcpu : vcpus) {
            vcpu.cpu().r[Cpu.RCX] = loops;
        }

        run(CODE, reader, 0, 0);

        assertEquals(2L * loops, machine.read64(sequence));
        assertEquals(0, vcpus.get(1).cpu().r[Cpu.RDI]);
    }
}
