package org.benchtop.system.bench;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import org.benchtop.engine.kvm.KvmEngine;
import org.benchtop.engine.kvm.KvmOptions;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuModel;
import org.benchtop.spi.cpu.CpuVm;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.memory.MemoryAccess;

/**
 * What an exit costs through the engine's run loop and {@link CpuHost}, against a C loop around KVM_RUN ({@code
 * src/bench/c/exitcost.c}, compiled here with gcc). Rounds alternate; the medians are compared. Run with {@code
 * tests/system/src/bench/exitcost}.
 */
public final class ExitCost {
    private static final long RAM_BYTES = 2L << 20;
    private static final long CODE = 0x1_0000;

    private enum Kind {
        PIO("e6 10 eb fc"), // 1: out 0x10,al; jmp 1b
        MMIO("c6 05 01 00 00 d0 5a eb f7"); // 1: mov byte [0xd0000001],0x5a; jmp 1b

        final byte[] code;

        Kind(String hex) {
            code = HexFormat.ofDelimiter(" ").parseHex(hex);
        }
    }

    private ExitCost() {}

    /** Arguments: path of exitcost.c, exits per round, rounds. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path source = Path.of(arguments[0]);
        int exits = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        Path binary = Files.createTempFile("exitcost", "");
        try {
            call(List.of("gcc", "-O2", "-Wall", "-o", binary.toString(), source.toString()));
            for (Kind kind : Kind.values()) {
                compare(kind, binary, exits, rounds);
            }
        } finally {
            Files.delete(binary);
        }
    }

    private static void compare(Kind kind, Path binary, int exits, int rounds)
            throws IOException, InterruptedException {
        String name = kind.name().toLowerCase(Locale.ROOT);
        List<Double> c = new ArrayList<>();
        List<Double> java = new ArrayList<>();
        List<Double> ratios = new ArrayList<>();
        try (JavaLoop loop = new JavaLoop(kind)) {
            loop.nanosPerExit(exits);
            for (int round = 0; round < rounds; round++) {
                double cNanos = Double.parseDouble(call(List.of(binary.toString(), name, String.valueOf(exits)))
                        .strip());
                double javaNanos = loop.nanosPerExit(exits);
                c.add(cNanos);
                java.add(javaNanos);
                ratios.add(javaNanos / cNanos);
            }
        }
        System.out.printf(
                Locale.ROOT,
                "%-4s exit: C %.2f us, Benchtop %.2f us; median ratio %.3f, best against best %.3f (%d rounds of %d exits)%n",
                name,
                median(c) / 1000,
                median(java) / 1000,
                median(ratios),
                least(java) / least(c),
                rounds,
                exits);
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }

    private static double least(List<Double> values) {
        return values.stream().min(Double::compare).orElseThrow();
    }

    private static String call(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(String.join(" ", command) + " failed");
        }
        return output;
    }

    /** The engine's loop; the host kicks the vCPU after the wanted number of exits. */
    private static final class JavaLoop implements CpuHost, AutoCloseable {
        private final Arena arena = Arena.ofShared();
        private final CpuVm vm;
        private final Vcpu vcpu;
        private long left;
        private long sum;

        JavaLoop(Kind kind) {
            MemorySegment ram = arena.allocate(RAM_BYTES, 4096);
            MemorySegment.copy(kind.code, 0, ram, ValueLayout.JAVA_BYTE, CODE, kind.code.length);
            vm = new KvmEngine().createVm(KvmOptions.DEFAULTS, new CpuVmConfig("exitcost", 1, CpuModel.HOST), this);
            vm.mapMemory(0, 0, ram, MemoryAccess.READ_WRITE);
            vcpu = vm.createVcpu(0);
            SpecialRegisters old = vcpu.specialRegisters();
            SegmentRegister data = SegmentRegister.flatData(16);
            vcpu.specialRegisters(new SpecialRegisters(
                    SegmentRegister.flatCode(8, false),
                    data,
                    data,
                    data,
                    data,
                    data,
                    old.tr(),
                    old.ldt(),
                    old.gdt(),
                    old.idt(),
                    old.cr0() | 1,
                    0,
                    0,
                    0,
                    old.cr8(),
                    0,
                    old.apicBase()));
            vcpu.registers(Registers.ZERO.withRip(CODE));
        }

        double nanosPerExit(int exits) {
            left = exits;
            long start = System.nanoTime();
            vcpu.run();
            return (double) (System.nanoTime() - start) / exits;
        }

        private void seen(long address, int size, long value) {
            sum += address + size + value;
            if (--left == 0) {
                vcpu.kick();
            }
        }

        @Override
        public long pioRead(int cpu, int port, int size) {
            return 0;
        }

        @Override
        public void pioWrite(int cpu, int port, int size, long value) {
            seen(port, size, value);
        }

        @Override
        public long mmioRead(int cpu, long gpa, int size) {
            return 0;
        }

        @Override
        public void mmioWrite(int cpu, long gpa, int size, long value) {
            seen(gpa, size, value);
        }

        @Override
        public long hypercall(int cpu, long number, long a0, long a1, long a2, long a3, long a4) {
            return 0;
        }

        @Override
        public OptionalLong readMsr(int cpu, int msr) {
            return OptionalLong.empty();
        }

        @Override
        public boolean writeMsr(int cpu, int msr, long value) {
            return false;
        }

        @Override
        public void close() {
            vm.close();
            arena.close();
            if (sum == 0) {
                throw new IllegalStateException("the guest wrote nothing");
            }
        }
    }
}
