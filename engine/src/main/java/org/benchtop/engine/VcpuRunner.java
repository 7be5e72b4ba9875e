package org.benchtop.engine;

import org.benchtop.spi.cpu.Vcpu;
import org.benchtop.spi.cpu.VcpuExit;

/** One vCPU's thread: runs guest code while the gate is open. */
final class VcpuRunner {
    private final Vcpu vcpu;
    private final RunGate gate;
    private final Listener listener;
    private final Thread thread;

    /** Told on the vCPU's thread; the vCPU waits at the gate afterwards. */
    interface Listener {
        void shutdown(Vcpu vcpu);

        void debug(Vcpu vcpu, VcpuExit.Debug exit);

        void failed(Vcpu vcpu, VcpuExit.Failed exit);

        void halted(Vcpu vcpu);

        void crashed(Vcpu vcpu, Throwable cause);
    }

    VcpuRunner(String machine, Vcpu vcpu, RunGate gate, Listener listener) {
        this.vcpu = vcpu;
        this.gate = gate;
        this.listener = listener;
        this.thread = Thread.ofPlatform()
                .name(machine + "-vcpu" + vcpu.index())
                .daemon(true)
                .unstarted(this::loop);
    }

    void start() {
        thread.start();
    }

    void kick() {
        vcpu.kick();
    }

    boolean onThread() {
        return Thread.currentThread() == thread;
    }

    void join() {
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void loop() {
        try {
            while (gate.enter(vcpu.index())) {
                step();
            }
        } catch (Throwable e) {
            listener.crashed(vcpu, e);
        } finally {
            gate.left();
        }
    }

    private void step() {
        VcpuExit exit = vcpu.run();
        switch (exit) {
            case VcpuExit.Kicked kicked -> {}
            case VcpuExit.Halted halted -> {
                gate.hold();
                listener.halted(vcpu);
            }
            case VcpuExit.Shutdown shutdown -> {
                gate.hold();
                listener.shutdown(vcpu);
            }
            case VcpuExit.Debug debug -> {
                gate.hold();
                listener.debug(vcpu, debug);
            }
            case VcpuExit.Failed failed -> {
                gate.hold();
                listener.failed(vcpu, failed);
            }
        }
    }
}
