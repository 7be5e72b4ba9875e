package org.benchtop.spi.device;

import org.benchtop.spi.CreateContext;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.bus.AddressSpace;
import org.benchtop.spi.bus.BusRange;
import org.benchtop.spi.bus.IoEvent;
import org.benchtop.spi.bus.IoEventMatch;
import org.benchtop.spi.bus.MmioDevice;
import org.benchtop.spi.bus.PioDevice;
import org.benchtop.spi.bus.VcpuMmio;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.event.Timer;
import org.benchtop.spi.irq.IrqChip;
import org.benchtop.spi.irq.IrqLine;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryMap;
import org.benchtop.spi.net.NetBackend;
import org.benchtop.spi.pci.PciBus;
import org.benchtop.spi.time.Clock;

/** The machine as one of its devices sees it. What is claimed here is freed by the engine when the device is closed. */
public interface DeviceContext extends CreateContext {
    /** Guest RAM. */
    GuestMemory memory();

    /** For ROMs and other memory besides RAM. */
    MemoryMap memoryMap();

    /** Claims I/O ports; throws when they overlap others. */
    BusRange pio(int base, int size, PioDevice device);

    /** Claims addresses; throws when they overlap others. */
    BusRange mmio(long base, long sizeBytes, MmioDevice device);

    /** Answers accesses that depend on the vCPU that makes them; at most one device of a machine does. */
    void vcpuMmio(VcpuMmio device);

    /** The PCI bus. */
    PciBus pci();

    /** A source on a GSI; ISA interrupts are 0 to 15. */
    default IrqLine irqLine(int gsi) {
        return irqChip().line(gsi);
    }

    /** The interrupt controllers. */
    IrqChip irqChip();

    /** Makes this device the machine's interrupt controllers, where the CPU engine has none. Before other devices. */
    void installIrqChip(IrqChip chip);

    /**
     * Makes this device the paravirtual interface of the machine.
     *
     * @throws org.benchtop.spi.BenchtopException if there is one already, or the CPU engine does not pass hypercalls on
     */
    default void installHypervisor(org.benchtop.spi.cpu.Hypervisor hypervisor) {
        throw org.benchtop.spi.BenchtopException.of(
                org.benchtop.spi.ErrorKind.UNSUPPORTED, "this machine has no place for a hypervisor interface");
    }

    /** Rings a doorbell for matching guest writes. */
    IoEvent ioEvent(AddressSpace space, long address, IoEventMatch match, Doorbell doorbell);

    /** The machine's time. */
    Clock clock();

    /** A timer in the machine's time; the handler runs on {@link #eventLoop()}. */
    default Timer timer(Runnable onExpiry) {
        return eventLoop().timer(clock(), onExpiry);
    }

    /** The machine's default loop. */
    EventLoop eventLoop();

    /** A loop of {@code iothreads:}. */
    EventLoop eventLoop(String iothread);

    /** An entry of {@code drives:}; this device becomes its only user. */
    BlockBackend drive(String name);

    /** An entry of {@code chardevs:}; this device becomes its only user. */
    Chardev chardev(String name);

    /** An entry of {@code netdevs:}; this device becomes its only user. */
    NetBackend netdev(String name);

    /** Power, reset and facts about the machine. */
    MachineControl machine();

    /** Things that devices of a machine offer to each other, such as {@link Acpi} or {@link FwCfg}. */
    Services services();
}
