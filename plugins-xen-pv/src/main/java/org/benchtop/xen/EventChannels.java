package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The guest's event channels (event_channel.h): what is bound to which port, and both ways of showing pending events.
 *
 * <p>Control operations take one lock; {@link #signal} and {@link #send} take none.
 */
final class EventChannels {
    /** How many ports a domain gets, port 0 included; the default of Xen's tool stack. */
    static final int PORTS = 1024;

    static final int VIRQ_TIMER = 0;
    static final int VIRQS = 24;
    /** Which virtual interrupts exist once for each vCPU: timer, debug, XENPMU. */
    private static final int PER_VCPU_VIRQS = 1 | 1 << 1 | 1 << 13;
    /** Which belong to domain 0: DOM_EXC, con_ring, and so on. */
    private static final int PRIVILEGED_VIRQS = 1 << 2 | 1 << 3 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12;

    private final int cpus;
    private final VcpuInfos infos;
    private final Upcalls upcalls;
    private final TwoLevelEvents twoLevel;
    private final EventPort[] ports = new EventPort[PORTS];
    private final int[][] virqPorts;
    private volatile EventAbi abi;

    EventChannels(int cpus, MemorySegment shared, VcpuInfos infos, Upcalls upcalls) {
        this.cpus = cpus;
        this.infos = infos;
        this.upcalls = upcalls;
        this.twoLevel = new TwoLevelEvents(shared, infos);
        this.abi = twoLevel;
        this.virqPorts = new int[cpus][VIRQS];
        for (int i = 0; i < PORTS; i++) {
            ports[i] = new EventPort(i);
        }
    }

    /** Closes all ports and goes back to two levels. */
    synchronized void reset() {
        for (int i = 1; i < PORTS; i++) {
            free(ports[i]);
        }
        abi = twoLevel;
        for (int[] row : virqPorts) {
            Arrays.fill(row, 0);
        }
    }

    private void free(EventPort port) {
        if (port.kind == EventPort.Kind.FREE) {
            return;
        }
        if (port.kind == EventPort.Kind.VIRQ) {
            virqPorts[port.vcpu][port.virq] = 0;
        }
        port.kind = EventPort.Kind.FREE;
        port.backend = null;
        port.channel = null;
        port.vcpu = 0;
        port.priority = FifoEvents.DEFAULT_PRIORITY;
        abi.clear(port.number);
    }

    private long allocate(EventPort.Kind kind, int vcpu) {
        for (int i = 1; i < PORTS; i++) {
            EventPort port = ports[i];
            if (port.kind == EventPort.Kind.FREE) {
                abi.clear(i);
                port.vcpu = vcpu;
                port.kind = kind;
                return i;
            }
        }
        return Xen.ENOSPC;
    }

    private boolean valid(int port) {
        return port > 0 && port < PORTS;
    }

    private boolean noVcpu(int vcpu) {
        return vcpu < 0 || vcpu >= cpus;
    }

    /** A port that waits for a backend; or an error. */
    synchronized long allocateUnbound() {
        return allocate(EventPort.Kind.UNBOUND, 0);
    }

    /** Binds a virtual interrupt of a vCPU to a new port; or an error. */
    synchronized long bindVirq(int virq, int vcpu) {
        if (virq < 0 || virq >= VIRQS || noVcpu(vcpu)) {
            return virq < 0 || virq >= VIRQS ? Xen.EINVAL : Xen.ENOENT;
        }
        if ((PRIVILEGED_VIRQS & 1 << virq) != 0) {
            return Xen.EPERM;
        }
        if ((PER_VCPU_VIRQS & 1 << virq) == 0 && vcpu != 0) {
            return Xen.EINVAL;
        }
        if (virqPorts[vcpu][virq] != 0) {
            return Xen.EEXIST;
        }
        long port = allocate(EventPort.Kind.VIRQ, vcpu);
        if (port > 0) {
            ports[(int) port].virq = virq;
            virqPorts[vcpu][virq] = (int) port;
        }
        return port;
    }

    /** A port by which vCPUs reach one of them; or an error. */
    synchronized long bindIpi(int vcpu) {
        return noVcpu(vcpu) ? Xen.ENOENT : allocate(EventPort.Kind.IPI, vcpu);
    }

    /** Frees a port. */
    synchronized long close(int port) {
        if (!valid(port) || ports[port].kind == EventPort.Kind.FREE) {
            return Xen.EINVAL;
        }
        free(ports[port]);
        return 0;
    }

    /** Frees all ports, as a guest asks for; those of the domain builder, too. */
    synchronized long closeAll() {
        reset();
        return 0;
    }

    /** Chooses the vCPU of a port. */
    long bindVcpu(int port, int vcpu) {
        if (noVcpu(vcpu)) {
            return Xen.ENOENT;
        }
        synchronized (this) {
            if (!valid(port)) {
                return Xen.EINVAL;
            }
            EventPort.Kind kind = ports[port].kind;
            boolean movable = kind == EventPort.Kind.INTERDOMAIN
                    || kind == EventPort.Kind.UNBOUND
                    || kind == EventPort.Kind.VIRQ && (PER_VCPU_VIRQS & 1 << ports[port].virq) == 0;
            if (!movable) {
                return Xen.EINVAL;
            }
            if (kind == EventPort.Kind.VIRQ) {
                virqPorts[ports[port].vcpu][ports[port].virq] = 0;
                virqPorts[vcpu][ports[port].virq] = port;
            }
            ports[port].vcpu = vcpu;
        }
        return 0;
    }

    /** A guest's notification of the other end. */
    long send(int port) {
        if (!valid(port)) {
            return Xen.EINVAL;
        }
        EventPort at = ports[port];
        switch (at.kind) {
            case INTERDOMAIN -> {
                Runnable backend = at.backend;
                if (backend != null) {
                    backend.run();
                }
                return 0;
            }
            case IPI -> {
                signal(at);
                return 0;
            }
            case UNBOUND -> {
                return 0;
            }
            case FREE, VIRQ -> {
                return Xen.EINVAL;
            }
        }
        throw new IllegalStateException("event channel " + port);
    }

    private void signal(EventPort port) {
        int vcpu = port.vcpu;
        if (abi.setPending(port.number, vcpu, port.priority)) {
            upcalls.raise(vcpu);
        }
    }

    /** Signals a virtual interrupt, if the guest has bound it. */
    void signalVirq(int virq, int vcpu) {
        int port;
        synchronized (this) {
            port = virqPorts[vcpu][virq];
        }
        if (port != 0) {
            signal(ports[port]);
        }
    }

    /** Clears a port's mask, and shows it again if it is pending. */
    long unmask(int port) {
        if (!valid(port) || ports[port].kind == EventPort.Kind.FREE) {
            return Xen.EINVAL;
        }
        EventPort at = ports[port];
        if (abi.unmask(port) && abi.remind(port, at.vcpu, at.priority)) {
            upcalls.raise(at.vcpu);
        }
        return 0;
    }

    /** Whether an event is pending. */
    boolean pending(int port) {
        return valid(port) && abi.pending(port);
    }

    /** Sets the priority of a port under the FIFO ABI. */
    long priority(int port, int priority) {
        if (!valid(port) || priority < 0 || priority >= FifoEvents.PRIORITIES || !(abi instanceof FifoEvents)) {
            return Xen.EINVAL;
        }
        ports[port].priority = priority;
        return 0;
    }

    /** Gives a vCPU a control block, and changes to the FIFO ABI with the first. */
    synchronized long initControl(int vcpu, MemorySegment block) {
        if (noVcpu(vcpu)) {
            return Xen.ENOENT;
        }
        boolean first = !(abi instanceof FifoEvents);
        FifoEvents fifo = abi instanceof FifoEvents present ? present : new FifoEvents(PORTS, cpus, infos);
        if (!fifo.control(vcpu, block)) {
            return Xen.EINVAL;
        }
        if (first) {
            abi = fifo;
        }
        return 0;
    }

    /** Adds a page of event words; events that were pending under two levels move there. */
    synchronized long expandArray(MemorySegment page) {
        if (!(abi instanceof FifoEvents fifo)) {
            return Xen.EINVAL;
        }
        int from = fifo.ports();
        if (!fifo.expand(page)) {
            return Xen.ENOSPC;
        }
        for (int i = Math.max(1, from); i < Math.min(PORTS, fifo.ports()); i++) {
            if (ports[i].kind != EventPort.Kind.FREE && twoLevel.pending(i)) {
                twoLevel.clear(i);
                signal(ports[i]);
            }
        }
        return 0;
    }

    /** What a port is, for EVTCHNOP_status; empty if there is no such port. */
    Optional<EventPort> port(int port) {
        return valid(port) ? Optional.of(ports[port]) : Optional.empty();
    }

    /**
     * Binds a backend to a port that waits for one.
     *
     * @param onNotify called on the vCPU thread that notifies; must return at once
     * @return empty if the port does not wait for a backend
     */
    synchronized Optional<EventChannel> bind(int port, Runnable onNotify) {
        if (!valid(port) || ports[port].kind != EventPort.Kind.UNBOUND) {
            return Optional.empty();
        }
        return Optional.of(connect(ports[port], onNotify));
    }

    /** A new port that is bound to a backend already, for the domain builder. */
    synchronized EventChannel connectNew(Runnable onNotify) {
        return connect(ports[(int) allocate(EventPort.Kind.UNBOUND, 0)], onNotify);
    }

    private EventChannel connect(EventPort port, Runnable onNotify) {
        EventChannel channel = new Bound(port);
        port.backend = onNotify;
        port.channel = channel;
        port.kind = EventPort.Kind.INTERDOMAIN;
        return channel;
    }

    /** What the ports in use are, for people. */
    synchronized Map<Integer, String> describe() {
        Map<Integer, String> all = new LinkedHashMap<>();
        for (EventPort port : ports) {
            if (port.kind != EventPort.Kind.FREE) {
                all.put(
                        port.number,
                        port.kind.name().toLowerCase(Locale.ROOT)
                                + (port.kind == EventPort.Kind.VIRQ ? port.virq : "")
                                + " vcpu" + port.vcpu
                                + (abi.pending(port.number) ? " pending" : "")
                                + (abi.masked(port.number) ? " masked" : ""));
            }
        }
        return all;
    }

    private final class Bound implements EventChannel {
        private final EventPort at;

        Bound(EventPort at) {
            this.at = at;
        }

        @Override
        public int port() {
            return at.number;
        }

        @Override
        public void signal() {
            if (at.channel == this) {
                EventChannels.this.signal(at);
            }
        }

        @Override
        public void close() {
            synchronized (EventChannels.this) {
                if (at.channel == this) {
                    at.channel = null;
                    at.backend = null;
                    at.kind = EventPort.Kind.UNBOUND;
                }
            }
        }
    }
}
