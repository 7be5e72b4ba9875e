package org.benchtop.spi.device;

/** Power, reset and facts about the machine. Any thread; requests return at once and are carried out later. */
public interface MachineControl {
    /** The machine's name. */
    String name();

    /** The number of vCPUs. */
    int cpus();

    /** Whether the guest is started from firmware, which then enumerates PCI and builds tables itself. */
    boolean firmware();

    /** The guest switched the power off. */
    void requestPowerOff();

    /** The guest asked for a reset. */
    void requestReset();

    /** The guest ended with an exit code of its own (exit port). */
    void requestExit(int code);

    /** The guest reports that it has crashed. */
    void guestPanicked(String message);

    /**
     * A device cannot go on until somebody has helped: the machine is paused soon, and says why. When it is resumed the
     * device tries again. Does nothing if the machine is resumed meanwhile.
     */
    void requestPause(String reason);

    /** A vCPU, for platform devices such as an emulated APIC. */
    org.benchtop.spi.cpu.Vcpu vcpu(int index);

    /** The CPU engine's features. */
    org.benchtop.spi.cpu.CpuVmFeatures cpuFeatures();
}
