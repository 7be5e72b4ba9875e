package org.benchtop.virtio.scsi;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.scsi.ScsiHost;
import org.benchtop.spi.scsi.ScsiHosts;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTarget;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.Stats;
import org.benchtop.virtio.device.VirtioDevice;
import org.benchtop.virtio.queue.QueueHandler;
import org.benchtop.virtio.queue.QueuePump;
import org.jspecify.annotations.Nullable;

/**
 * The virtio SCSI host device (VIRTIO 1.2, 5.6): queue 0 is for task management, 1 for events, the others for commands to
 * the logical units of up to 256 targets.
 */
public final class VirtioScsi implements VirtioDevice, ScsiHost {
    static final long VIRTIO_SCSI_F_HOTPLUG = 1L << 1;
    static final long VIRTIO_SCSI_F_CHANGE = 1L << 2;

    static final int TARGETS = 256;
    static final int LUNS = 16384;
    /** The control and the event queue. */
    static final int FIXED_QUEUES = 2;

    private static final int VIRTIO_ID_SCSI = 8;
    private static final int PCI_CLASS_STORAGE_SCSI = 0x010000;
    private static final int STATE_VERSION = 1;
    private static final int MIN_CDB_BYTES = 16;
    private static final int MIN_SENSE_BYTES = 18;
    private static final int MAX_VARIABLE_BYTES = 252;

    private final String id;
    private final VirtioScsiOptions options;
    private final EventLoop loop;
    private final GuestMemory memory;
    private final Counter commands;
    private final Counter managements;
    private final Counter events;
    private final Counter errors;
    private final RegisterMap<ScsiConfigRegister> config =
            new RegisterMap<>("scsi-config", ScsiConfigRegister.class, new ConfigHandler());

    private final @Nullable ScsiTarget[] targets = new @Nullable ScsiTarget[TARGETS];
    /** Ways to targets; used on the loop alone. */
    private final @Nullable ScsiPort[] ports = new @Nullable ScsiPort[TARGETS];

    private @Nullable EventQueue eventQueue;
    private @Nullable ScsiHosts announced;
    private volatile @Nullable PciAddress pciAddress;

    private volatile long features;
    private volatile int cdbBytes = ScsiWire.DEFAULT_CDB_BYTES;
    private volatile int senseBytes = ScsiWire.DEFAULT_SENSE_BYTES;
    /** How many resets of logical units are under way: what they abort was reset, not aborted. On the loop. */
    private int resets;

    /**
     * A host device without targets.
     *
     * @param loop where all of its work is done
     */
    public VirtioScsi(String id, VirtioScsiOptions options, EventLoop loop, GuestMemory memory, Stats stats) {
        this.id = id;
        this.options = options;
        this.loop = loop;
        this.memory = memory;
        commands = stats.counter("commands");
        managements = stats.counter("task-managements");
        events = stats.counter("events");
        errors = stats.counter("errors");
    }

    /** Remembers where it is announced, to withdraw it when it is closed. */
    void announced(ScsiHosts hosts) {
        announced = hosts;
    }

    @Override
    public void placed(PciAddress address) {
        pciAddress = address;
    }

    @Override
    public Optional<PciAddress> pciAddress() {
        return Optional.ofNullable(pciAddress);
    }

    // A virtio device.

    @Override
    public int deviceId() {
        return VIRTIO_ID_SCSI;
    }

    @Override
    public int pciClassCode() {
        return PCI_CLASS_STORAGE_SCSI;
    }

    @Override
    public long features() {
        return (options.hotplug() ? VIRTIO_SCSI_F_HOTPLUG : 0) | (options.paramChange() ? VIRTIO_SCSI_F_CHANGE : 0);
    }

    @Override
    public int queues() {
        return FIXED_QUEUES + options.queues();
    }

    @Override
    public int queueMaxSize(int queue) {
        return options.queueSize();
    }

    @Override
    public EventLoop queueLoop(int queue) {
        return loop;
    }

    @Override
    public QueueHandler openQueue(int queue, QueuePump pump) {
        if (queue == 0) {
            return new ControlQueue(this, pump, memory);
        }
        if (queue == 1) {
            EventQueue opened = new EventQueue(pump, memory, events);
            eventQueue = opened;
            return opened;
        }
        return new CommandQueue(this, pump, memory);
    }

    @Override
    public void negotiated(long newFeatures) {
        features = newFeatures;
    }

    @Override
    public RegisterMap<?> config() {
        return config;
    }

    private final class ConfigHandler implements RegisterMap.Handler<ScsiConfigRegister> {
        @Override
        public long read(ScsiConfigRegister register) {
            return peek(register);
        }

        @Override
        public long peek(ScsiConfigRegister register) {
            return switch (register) {
                case NUM_QUEUES -> options.queues();
                case SEG_MAX -> options.queueSize() - 2;
                case MAX_SECTORS -> options.maxSectors();
                case CMD_PER_LUN -> options.cmdPerLun();
                case EVENT_INFO_SIZE -> ScsiWire.EVENT_BYTES;
                case SENSE_SIZE -> senseBytes;
                case CDB_SIZE -> cdbBytes;
                case MAX_CHANNEL -> 0;
                case MAX_TARGET -> TARGETS - 1;
                case MAX_LUN -> LUNS - 1;
            };
        }

        @Override
        public void write(ScsiConfigRegister register, long value) {
            int size = (int) Math.min(value, MAX_VARIABLE_BYTES);
            if (register == ScsiConfigRegister.SENSE_SIZE && size >= MIN_SENSE_BYTES) {
                senseBytes = size;
            } else if (register == ScsiConfigRegister.CDB_SIZE && size >= MIN_CDB_BYTES) {
                cdbBytes = size;
            }
        }
    }

    @Override
    public void reset() {
        features = 0;
        cdbBytes = ScsiWire.DEFAULT_CDB_BYTES;
        senseBytes = ScsiWire.DEFAULT_SENSE_BYTES;
        EventQueue queue = eventQueue;
        if (queue != null) {
            queue.missed(false);
        }
    }

    /** What is saved. */
    record State(int cdbBytes, int senseBytes, boolean eventsMissed) {}

    @Override
    public SavedState saveState() {
        EventQueue queue = eventQueue;
        return new SavedState(STATE_VERSION, new State(cdbBytes, senseBytes, queue != null && queue.missed()));
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != STATE_VERSION || !(state.content() instanceof State content)) {
            throw BenchtopException.config(
                    id + ": saved SCSI device state has version " + state.version() + ", allowed: " + STATE_VERSION);
        }
        cdbBytes = content.cdbBytes;
        senseBytes = content.senseBytes;
        EventQueue queue = eventQueue;
        if (queue != null) {
            queue.missed(content.eventsMissed);
        }
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < TARGETS; i++) {
            int number = i;
            target(i)
                    .ifPresent(
                            target -> map.put("target-" + number, target.luns().toString()));
        }
        return map;
    }

    @Override
    public void close() {
        ScsiHosts hosts = announced;
        announced = null;
        if (hosts != null) {
            hosts.remove(this);
        }
        for (int i = 0; i < TARGETS; i++) {
            closePort(i);
        }
    }

    // What queues ask.

    int cdbBytes() {
        return cdbBytes;
    }

    int senseBytes() {
        return senseBytes;
    }

    Counter commands() {
        return commands;
    }

    Counter managements() {
        return managements;
    }

    Counter errors() {
        return errors;
    }

    int resets() {
        return resets;
    }

    void resets(int value) {
        resets = value;
    }

    /** The way to a target; null if there is none. On the loop. */
    @Nullable
    ScsiPort port(int number) {
        if (number < 0 || number >= TARGETS) {
            return null;
        }
        return ports[number];
    }

    /** Lets delayed requests of all targets go. On the loop. */
    void drain() {
        for (ScsiPort port : ports) {
            if (port != null) {
                port.drain();
            }
        }
    }

    // An adapter.

    @Override
    public String id() {
        return id;
    }

    @Override
    public int targets() {
        return TARGETS;
    }

    @Override
    public int luns() {
        return LUNS;
    }

    @Override
    public Optional<ScsiTarget> target(int number) {
        synchronized (targets) {
            return Optional.ofNullable(targets[number]);
        }
    }

    @Override
    public void attach(int number, ScsiTarget what) {
        ScsiPort opened = what.open(loop);
        synchronized (targets) {
            targets[number] = what;
        }
        loop.call(() -> ports[number] = opened);
    }

    @Override
    public void detach(int number) {
        synchronized (targets) {
            targets[number] = null;
        }
        loop.call(() -> closePort(number));
    }

    private void closePort(int number) {
        ScsiPort port = ports[number];
        ports[number] = null;
        if (port != null) {
            port.close();
        }
    }

    @Override
    public void lunAdded(int target, int lun) {
        event(
                VIRTIO_SCSI_F_HOTPLUG,
                ScsiWire.VIRTIO_SCSI_T_TRANSPORT_RESET,
                target,
                lun,
                ScsiWire.VIRTIO_SCSI_EVT_RESET_RESCAN);
    }

    @Override
    public void lunRemoved(int target, int lun) {
        event(
                VIRTIO_SCSI_F_HOTPLUG,
                ScsiWire.VIRTIO_SCSI_T_TRANSPORT_RESET,
                target,
                lun,
                ScsiWire.VIRTIO_SCSI_EVT_RESET_REMOVED);
    }

    @Override
    public void lunChanged(int target, int lun, int asc, int ascq) {
        event(VIRTIO_SCSI_F_CHANGE, ScsiWire.VIRTIO_SCSI_T_PARAM_CHANGE, target, lun, asc | ascq << 8);
    }

    private void event(long feature, int event, int target, int lun, int reason) {
        EventQueue queue = eventQueue;
        if (queue != null && (features & feature) != 0) {
            loop.execute(() -> queue.report(event, target, lun, reason));
        }
    }
}
