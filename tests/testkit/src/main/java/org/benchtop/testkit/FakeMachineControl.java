package org.benchtop.testkit;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.cpu.CpuVmFeatures;
import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.device.MachineControl;

/** Records what devices ask of the machine. */
public final class FakeMachineControl implements MachineControl {
    private final List<String> requests = new ArrayList<>();
    private final List<Vcpu> vcpus = new ArrayList<>();
    private int cpus = 1;
    private boolean firmware;
    private CpuVmFeatures features = new CpuVmFeatures(true, true, true, true);

    /** Sets the number of vCPUs that devices see. */
    public FakeMachineControl cpus(int count) {
        cpus = count;
        return this;
    }

    /** Sets whether the machine starts from firmware. */
    public FakeMachineControl firmware(boolean value) {
        firmware = value;
        return this;
    }

    /** Sets the CPU engine's features; all are there unless changed. */
    public FakeMachineControl cpuFeatures(CpuVmFeatures value) {
        features = value;
        return this;
    }

    /** Adds a vCPU for {@link #vcpu}. */
    public FakeMachineControl vcpu(Vcpu vcpu) {
        vcpus.add(vcpu);
        return this;
    }

    /** What was asked so far: {@code power-off}, {@code reset}, {@code exit 3}, {@code panic MESSAGE}, {@code pause REASON}. */
    public synchronized List<String> requests() {
        return List.copyOf(requests);
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public int cpus() {
        return cpus;
    }

    @Override
    public boolean firmware() {
        return firmware;
    }

    @Override
    public synchronized void requestPowerOff() {
        requests.add("power-off");
    }

    @Override
    public synchronized void requestReset() {
        requests.add("reset");
    }

    @Override
    public synchronized void requestExit(int code) {
        requests.add("exit " + code);
    }

    @Override
    public synchronized void guestPanicked(String message) {
        requests.add("panic " + message);
    }

    @Override
    public synchronized void requestPause(String reason) {
        requests.add("pause " + reason);
    }

    @Override
    public Vcpu vcpu(int index) {
        if (index < 0 || index >= vcpus.size()) {
            throw new AssertionError("no fake vCPU " + index + "; add one with FakeMachineControl.vcpu");
        }
        return vcpus.get(index);
    }

    @Override
    public CpuVmFeatures cpuFeatures() {
        return features;
    }
}
