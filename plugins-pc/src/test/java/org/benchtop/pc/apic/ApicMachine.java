package org.benchtop.pc.apic;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.pc.common.NoOptions;
import org.benchtop.pc.legacy.I8259;
import org.benchtop.spi.cpu.LocalApic;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.irq.Msi;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.FakeVcpu;

/** 8259s, local APICs and IOAPIC of a machine, and the driver's side of them. */
final class ApicMachine {
    static final long APIC = 0xfee0_0000L;
    static final int ID = 0x20;
    static final int TPR = 0x80;
    static final int PPR = 0xa0;
    static final int EOI = 0xb0;
    static final int LDR = 0xd0;
    static final int DFR = 0xe0;
    static final int SVR = 0xf0;
    static final int ESR = 0x280;
    static final int ICR = 0x300;
    static final int ICR_HIGH = 0x310;
    static final int LVT_TIMER = 0x320;
    static final int LVT_LINT0 = 0x350;
    static final int LVT_ERROR = 0x370;
    static final int INITIAL_COUNT = 0x380;
    static final int CURRENT_COUNT = 0x390;
    static final int DIVIDE = 0x3e0;

    private static final long IOAPIC = 0xfec0_0000L;

    final FakeDeviceContext context = new FakeDeviceContext("apics", FakeGuestMemory.ofSize(1 << 20));
    final List<FakeVcpu> vcpus = new ArrayList<>();
    final Device pic;
    final Device apics;
    final Device ioapic;

    ApicMachine(int cpus) {
        context.machine().cpus(cpus);
        for (int i = 0; i < cpus; i++) {
            FakeVcpu vcpu = new FakeVcpu(i, context.clock());
            vcpus.add(vcpu);
            context.machine().vcpu(vcpu);
        }
        pic = I8259.type().create(new NoOptions(), context.device("i8259"));
        apics = LocalApics.type().create(new NoOptions(), context);
        ioapic = IoApic.type().create(new NoOptions(), context.device("ioapic"));
    }

    /** All attached and reset, APICs enabled by software, the 8259s masked. */
    static ApicMachine started(int cpus) {
        ApicMachine machine = new ApicMachine(cpus);
        machine.attach();
        machine.context.pioWrite(0x21, 1, 0xff);
        machine.context.pioWrite(0xa1, 1, 0xff);
        for (int i = 0; i < cpus; i++) {
            machine.write(i, SVR, 0x1ff);
            machine.write(i, LDR, 1 << 24 + i);
        }
        return machine;
    }

    void attach() {
        pic.attach(context.device("i8259"));
        apics.attach(context);
        ioapic.attach(context.device("ioapic"));
        pic.reset();
        apics.reset();
        ioapic.reset();
    }

    LocalApic apic(int cpu) {
        return vcpus.get(cpu).apic();
    }

    int read(int cpu, int register) {
        return (int) context.mmioRead(cpu, APIC + register, 4);
    }

    void write(int cpu, int register, int value) {
        context.mmioWrite(cpu, APIC + register, 4, Integer.toUnsignedLong(value));
    }

    /** Sends an interprocessor interrupt in xAPIC mode. */
    void ipi(int cpu, int destination, int command) {
        write(cpu, ICR_HIGH, destination << 24);
        write(cpu, ICR, command);
    }

    /** Takes an interrupt as the CPU would, or -1. */
    int take(int cpu) {
        return apic(cpu).interruptPending() ? apic(cpu).acknowledge() : -1;
    }

    void eoi(int cpu) {
        write(cpu, EOI, 0);
    }

    long readIoApic(int register) {
        context.mmioWrite(IOAPIC, 4, register);
        return context.mmioRead(IOAPIC + 0x10, 4);
    }

    void writeIoApic(int register, int value) {
        context.mmioWrite(IOAPIC, 4, register);
        context.mmioWrite(IOAPIC + 0x10, 4, Integer.toUnsignedLong(value));
    }

    /** Sets an entry of the redirection table. */
    void redirect(int pin, int low, int destination) {
        writeIoApic(0x11 + 2 * pin, destination << 24);
        writeIoApic(0x10 + 2 * pin, low);
    }

    long entry(int pin) {
        return readIoApic(0x10 + 2 * pin) | readIoApic(0x11 + 2 * pin) << 32;
    }

    void eoiRegister(int vector) {
        context.mmioWrite(IOAPIC + 0x40, 4, vector);
    }

    Msi msi(long address, int data) {
        Msi msi = context.irqChip().newMsi();
        msi.target(address, data);
        return msi;
    }

    /** Initialises the 8259s as PC firmware does, at vectors 0x20 and 0x28, with everything unmasked. */
    void initialisePics() {
        for (int[] write : new int[][] {
            {0x20, 0x11},
            {0x21, 0x20},
            {0x21, 4},
            {0x21, 1},
            {0xa0, 0x11},
            {0xa1, 0x28},
            {0xa1, 2},
            {0xa1, 1},
            {0x21, 0},
            {0xa1, 0}
        }) {
            context.pioWrite(write[0], 1, write[1]);
        }
    }
}
