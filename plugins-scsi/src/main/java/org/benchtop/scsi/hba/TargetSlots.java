package org.benchtop.scsi.hba;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.spi.scsi.ScsiHost;
import org.benchtop.spi.scsi.ScsiHosts;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTarget;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.jspecify.annotations.Nullable;

/** The targets of an adapter that does all its work on one event loop, and the ways to them. */
public final class TargetSlots implements ScsiHost, AutoCloseable {
    private final String id;
    private final PciAddress address;
    private final int luns;
    private final EventLoop loop;
    private final Listener listener;
    private final ScsiHosts announced;
    private final @Nullable ScsiTarget[] targets;
    /** Used on the loop alone. */
    private final @Nullable ScsiPort[] ports;

    /** Told of logical units that come and go. Any thread. */
    public interface Listener {
        /** One has come. */
        void added(int target, int lun);

        /** One has gone. */
        void removed(int target, int lun);
    }

    /**
     * Announces an adapter.
     *
     * @param address where the adapter is
     * @param targetCount identifiers are below this
     * @param lunCount logical unit numbers are below this
     */
    public TargetSlots(
            DeviceContext context,
            String id,
            PciAddress address,
            int targetCount,
            int lunCount,
            EventLoop loop,
            Listener listener) {
        this.id = id;
        this.address = address;
        this.luns = lunCount;
        this.loop = loop;
        this.listener = listener;
        this.targets = new @Nullable ScsiTarget[targetCount];
        this.ports = new @Nullable ScsiPort[targetCount];
        this.announced = ScsiHosts.add(context, this);
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Optional<PciAddress> pciAddress() {
        return Optional.of(address);
    }

    @Override
    public int targets() {
        return targets.length;
    }

    @Override
    public int luns() {
        return luns;
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

    @Override
    public void lunAdded(int target, int lun) {
        listener.added(target, lun);
    }

    @Override
    public void lunRemoved(int target, int lun) {
        listener.removed(target, lun);
    }

    private void closePort(int number) {
        ScsiPort port = ports[number];
        ports[number] = null;
        if (port != null) {
            port.close();
        }
    }

    /** The way to a target; null if there is none. On the loop. */
    public @Nullable ScsiPort port(int number) {
        if (number < 0 || number >= ports.length) {
            return null;
        }
        return ports[number];
    }

    /** Hands over what was started, at the end of a burst. On the loop. */
    public void kick() {
        for (ScsiPort port : ports) {
            if (port != null) {
                port.kick();
            }
        }
    }

    /** Lets delayed requests go. On the loop. */
    public void drain() {
        for (ScsiPort port : ports) {
            if (port != null) {
                port.drain();
            }
        }
    }

    /** Task management of every target; {@code done} is called when all are done. On the loop. */
    public void manageAll(ScsiTaskManagement function, Runnable done) {
        List<ScsiPort> all = new ArrayList<>();
        for (int i = 0; i < targets.length; i++) {
            ScsiPort port = port(i);
            if (port != null) {
                all.add(port);
            }
        }
        if (all.isEmpty()) {
            done.run();
            return;
        }
        AtomicInteger left = new AtomicInteger(all.size());
        for (ScsiPort port : all) {
            port.manage(function, 0, 0, 0, result -> {
                if (left.decrementAndGet() == 0) {
                    done.run();
                }
            });
        }
    }

    /** The targets for people. */
    public Map<String, Object> inspect() {
        Map<String, Object> map = new TreeMap<>();
        for (int i = 0; i < targets.length; i++) {
            int number = i;
            target(i)
                    .ifPresent(
                            target -> map.put("target-" + number, target.luns().toString()));
        }
        return map;
    }

    /** Withdraws the adapter. Nothing is in flight. */
    @Override
    public void close() {
        announced.remove(this);
        for (int i = 0; i < ports.length; i++) {
            closePort(i);
        }
    }
}
