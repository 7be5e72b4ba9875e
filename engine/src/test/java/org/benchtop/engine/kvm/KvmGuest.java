package org.benchtop.engine.kvm;

import static org.junit.jupiter.api.Assertions.fail;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import org.benchtop.spi.cpu.CpuHost;
import org.benchtop.spi.cpu.CpuModel;
import org.benchtop.spi.cpu.CpuProbe;
import org.benchtop.spi.cpu.CpuVmConfig;
import org.benchtop.spi.cpu.DescriptorTable;
import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SegmentRegister;
import org.benchtop.spi.cpu.SpecialRegisters;
import org.benchtop.spi.cpu.VcpuExit;
import org.benchtop.spi.irq.Msi;
import org.benchtop.spi.memory.MemoryAccess;
import org.junit.jupiter.api.Assumptions;

/** A VM with a little RAM that runs hand-assembled code in flat 32-bit mode, and records what leaves guest mode. */
final class KvmGuest implements CpuHost, AutoCloseable {
    static final int STOP_PORT = 0xf4;
    static final long RAM_BYTES = 2L << 20;
    static final long CODE = 0x1_0000;
    static final long STACK = 0x8_0000;
    private static final long GDT = 0x5000;
    private static final long IDT = 0x6000;
    private static final int CODE_SELECTOR = 8;
    private static final int DATA_SELECTOR = 16;
    private static final int CODE64_SELECTOR = 24;
    private static final long PML4 = 0x8000;
    private static final long PDPT = 0x9000;
    private static final long PD = 0xa000;
    private static final long PD_TOP = 0xb000;
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** One access that the host saw. */
    record Access(String kind, long address, int size, long value) {}

    final KvmVm vm;
    final List<KvmVcpu> vcpus = new ArrayList<>();
    final MemorySegment ram;
    final List<Access> accesses = Collections.synchronizedList(new ArrayList<>());
    final Deque<Long> reads = new ArrayDeque<>();
    final Map<Integer, LongConsumer> ports = new HashMap<>();
    final Map<Integer, Long> msrs = new HashMap<>();
    volatile boolean stopped;
    private final Arena arena = Arena.ofShared();

    KvmGuest() {
        this(1);
    }

    KvmGuest(int cpus) {
        this(cpus, KvmOptions.DEFAULTS);
    }

    KvmGuest(int cpus, KvmOptions options) {
        assumeKvm();
        ram = arena.allocate(RAM_BYTES, MemorySlots.PAGE_BYTES);
        vm = new KvmEngine().createVm(options, new CpuVmConfig("test", cpus, CpuModel.HOST), this);
        vm.mapMemory(0, 0, ram, MemoryAccess.READ_WRITE);
        for (int i = 0; i < cpus; i++) {
            vcpus.add(vm.createVcpu(i));
        }
        long[] descriptors = {0, 0x00cf_9b00_0000_ffffL, 0x00cf_9300_0000_ffffL, 0x00af_9b00_0000_ffffL};
        MemorySegment.copy(descriptors, 0, ram, ValueLayout.JAVA_LONG, GDT, descriptors.length);
        flat32(vcpu());
    }

    static void assumeKvm() {
        CpuProbe probe = new KvmEngine().probe();
        Assumptions.assumeTrue(probe.usable(), probe.reason());
    }

    KvmVcpu vcpu() {
        return vcpus.get(0);
    }

    /** Protected mode without paging, flat segments, interrupts off. */
    static void flat32(KvmVcpu vcpu) {
        SegmentRegister data = SegmentRegister.flatData(DATA_SELECTOR);
        SpecialRegisters old = vcpu.specialRegisters();
        vcpu.specialRegisters(new SpecialRegisters(
                SegmentRegister.flatCode(CODE_SELECTOR, false),
                data,
                data,
                data,
                data,
                data,
                old.tr(),
                old.ldt(),
                new DescriptorTable(GDT, 23),
                new DescriptorTable(IDT, 0x7ff),
                old.cr0() | 1,
                0,
                0,
                0,
                old.cr8(),
                0,
                old.apicBase()));
        vcpu.registers(Registers.ZERO.withRip(CODE).withRsp(STACK));
    }

    /**
     * 64-bit mode, interrupts off: virtual addresses equal physical ones for RAM and for the top 512 MiB below 4 GiB.
     */
    void flat64(KvmVcpu vcpu) {
        ram.set(ValueLayout.JAVA_LONG, PML4, PDPT | 3);
        ram.set(ValueLayout.JAVA_LONG, PDPT, PD | 3);
        ram.set(ValueLayout.JAVA_LONG, PDPT + 24, PD_TOP | 3);
        ram.set(ValueLayout.JAVA_LONG, PD, 0x83);
        for (long i = 256; i < 512; i++) {
            ram.set(ValueLayout.JAVA_LONG, PD_TOP + 8 * i, 0xc000_0000L + (i << 21) | 0x83);
        }
        SegmentRegister data = SegmentRegister.flatData(DATA_SELECTOR);
        SpecialRegisters old = vcpu.specialRegisters();
        vcpu.specialRegisters(new SpecialRegisters(
                SegmentRegister.flatCode(CODE64_SELECTOR, true),
                data,
                data,
                data,
                data,
                data,
                old.tr(),
                old.ldt(),
                new DescriptorTable(GDT, 31),
                new DescriptorTable(IDT, 0xfff),
                0x8000_0033L,
                0,
                PML4,
                0x20,
                old.cr8(),
                0x500,
                old.apicBase()));
        vcpu.registers(Registers.ZERO.withRip(CODE).withRsp(STACK));
    }

    /** 64-bit mode as {@link #flat64}, in ring 3 and with the right to use ports. */
    void program64(KvmVcpu vcpu) {
        flat64(vcpu);
        for (long entry : new long[] {PML4, PDPT, PD}) {
            ram.set(ValueLayout.JAVA_LONG, entry, ram.get(ValueLayout.JAVA_LONG, entry) | 4);
        }
        SpecialRegisters kernel = vcpu.specialRegisters();
        SegmentRegister data =
                new SegmentRegister(DATA_SELECTOR | 3, 0, -1, 3, true, 3, true, false, false, true, false, false);
        vcpu.specialRegisters(new SpecialRegisters(
                new SegmentRegister(CODE64_SELECTOR | 3, 0, -1, 0xb, true, 3, false, false, true, true, false, false),
                data,
                data,
                data,
                data,
                data,
                kernel.tr(),
                kernel.ldt(),
                kernel.gdt(),
                kernel.idt(),
                kernel.cr0(),
                0,
                kernel.cr3(),
                kernel.cr4(),
                kernel.cr8(),
                kernel.efer(),
                kernel.apicBase()));
        vcpu.registers(vcpu.registers().withRflags(0x3002));
    }

    /** Makes an interrupt vector call code at an address in 64-bit mode. */
    void gate64(int vector, long handler) {
        ram.set(
                ValueLayout.JAVA_LONG,
                IDT + 16L * vector,
                (handler & 0xffff) | (long) CODE64_SELECTOR << 16 | 0x8e00L << 32 | (handler >>> 16 << 48));
        ram.set(ValueLayout.JAVA_LONG, IDT + 16L * vector + 8, 0);
    }

    /** Puts hexadecimal bytes into RAM; the rest of a line after # is a comment. */
    void code(long gpa, String hex) {
        byte[] bytes = HexFormat.of().parseHex(hex.replaceAll("#[^\n]*|\\s", ""));
        MemorySegment.copy(bytes, 0, ram, ValueLayout.JAVA_BYTE, gpa, bytes.length);
    }

    /** Makes an interrupt vector call code at an address. */
    void gate(int vector, long handler) {
        ram.set(
                ValueLayout.JAVA_LONG,
                IDT + 8L * vector,
                (handler & 0xffff) | (long) CODE_SELECTOR << 16 | 0x8e00L << 32 | (handler >>> 16 << 48));
    }

    int word(long gpa) {
        return (int) ValueLayout.JAVA_INT.varHandle().getVolatile(ram, gpa);
    }

    void word(long gpa, int value) {
        ValueLayout.JAVA_INT.varHandle().setVolatile(ram, gpa, value);
    }

    /** Runs vCPU 0 until it writes to {@link #STOP_PORT} or does something else than port and memory accesses. */
    VcpuExit run() {
        return run(vcpu());
    }

    VcpuExit run(KvmVcpu vcpu) {
        try (Watchdog watchdog = new Watchdog(this)) {
            while (true) {
                VcpuExit exit = vcpu.run();
                if (!(exit instanceof VcpuExit.Kicked) || stopped) {
                    watchdog.check();
                    return exit;
                }
            }
        }
    }

    /** Starts a vCPU on a thread of its own that runs until {@link #stop}. */
    Thread start(KvmVcpu vcpu) {
        Thread thread = Thread.ofPlatform().name("test-vcpu" + vcpu.index()).unstarted(() -> {
            while (!stopped) {
                VcpuExit exit = vcpu.run();
                if (!(exit instanceof VcpuExit.Kicked)) {
                    accesses.add(new Access(exit.toString(), 0, 0, 0));
                    return;
                }
            }
        });
        thread.start();
        return thread;
    }

    void stop(Thread... threads) {
        stopped = true;
        vcpus.forEach(KvmVcpu::kick);
        for (Thread thread : threads) {
            try {
                if (!thread.join(java.time.Duration.ofSeconds(20))) {
                    fail(thread + " does not stop");
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** Waits for something that another thread does; fails with what the guest did so far. */
    void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TIMEOUT_NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                fail("timed out: " + what + "; accesses: " + accesses);
            }
            Thread.yield();
        }
    }

    Msi msi(int vector, int apicId) {
        Msi msi = vm.irqChip().orElseThrow().newMsi();
        msi.target(0xfee0_0000L | (long) apicId << 12, vector);
        return msi;
    }

    @Override
    public long pioRead(int vcpu, int port, int size) {
        long value = reads.isEmpty() ? 0 : reads.remove();
        accesses.add(new Access("in", port, size, value));
        return value;
    }

    @Override
    public void pioWrite(int vcpu, int port, int size, long value) {
        if (port == STOP_PORT) {
            stopped = true;
            vcpus.get(vcpu).kick();
            return;
        }
        LongConsumer handler = ports.get(port);
        if (handler != null) {
            handler.accept(value);
            return;
        }
        accesses.add(new Access("out", port, size, value));
    }

    @Override
    public long mmioRead(int vcpu, long gpa, int size) {
        long value = reads.isEmpty() ? 0 : reads.remove();
        accesses.add(new Access("read", gpa, size, value));
        return value;
    }

    @Override
    public void mmioWrite(int vcpu, long gpa, int size, long value) {
        accesses.add(new Access("write", gpa, size, value));
    }

    @Override
    public long hypercall(int vcpu, long number, long a0, long a1, long a2, long a3, long a4) {
        return -1;
    }

    @Override
    public OptionalLong readMsr(int vcpu, int msr) {
        Long value = msrs.get(msr);
        return value == null ? OptionalLong.empty() : OptionalLong.of(value);
    }

    @Override
    public boolean writeMsr(int vcpu, int msr, long value) {
        return msrs.replace(msr, value) != null;
    }

    @Override
    public void close() {
        vm.close();
        arena.close();
    }

    /** Ends a guest that hangs, so that the test fails instead. */
    private static final class Watchdog implements AutoCloseable {
        private final KvmGuest guest;
        private final Thread thread;
        private volatile boolean done;
        private volatile boolean barked;

        Watchdog(KvmGuest guest) {
            this.guest = guest;
            thread = Thread.ofVirtual().start(() -> {
                try {
                    Thread.sleep(TIMEOUT_NANOS / 1_000_000);
                } catch (InterruptedException e) {
                    return;
                }
                if (!done) {
                    barked = true;
                    guest.stopped = true;
                    guest.vcpus.forEach(KvmVcpu::kick);
                }
            });
        }

        void check() {
            if (barked) {
                fail("the guest hangs at rip=0x"
                        + Long.toHexString(guest.vcpu().registers().rip()) + "; accesses: " + guest.accesses);
            }
        }

        @Override
        public void close() {
            done = true;
            thread.interrupt();
        }
    }
}
