package org.benchtop.scsi;

import java.util.List;
import java.util.Optional;
import org.benchtop.scsi.target.LogicalUnit;
import org.benchtop.scsi.target.Target;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.scsi.ScsiHost;

/** A place on an adapter's bus, and a logical unit in it. */
final class Place {
    private final ScsiHost host;
    private final int scsiId;
    private final int lun;

    private Place(ScsiHost host, int scsiId, int lun) {
        this.host = host;
        this.scsiId = scsiId;
        this.lun = lun;
    }

    /** The place that a logical unit asks for, or the first free one of what it leaves open. */
    static Place find(String id, List<ScsiHost> hosts, Optional<String> bus, Optional<Integer> scsiId, int lun) {
        List<ScsiHost> candidates =
                hosts.stream().filter(h -> bus.map(h.id()::equals).orElse(true)).toList();
        if (candidates.isEmpty()) {
            throw BenchtopException.config(id + ": no SCSI adapter"
                    + bus.map(name -> " \"" + name + "\"").orElse("")
                    + "; it must be listed before its disks; there are "
                    + hosts.stream().map(ScsiHost::id).toList());
        }
        for (ScsiHost host : candidates) {
            int first = scsiId.orElse(0);
            int last = Math.min(scsiId.orElse(host.targets() - 1), host.targets() - 1);
            for (int target = first; target <= last; target++) {
                if (free(host, target, lun)) {
                    return new Place(host, target, lun);
                }
            }
        }
        ScsiHost host = candidates.getFirst();
        throw BenchtopException.config(id + ": "
                + scsiId.map(s -> "scsi-id " + s).orElse("every target") + " lun "
                + lun + " of " + host.id() + " is taken or does not exist; it has targets 0.." + (host.targets() - 1)
                + " with logical units 0.." + (host.luns() - 1));
    }

    private static boolean free(ScsiHost host, int target, int lun) {
        if (lun >= host.luns() || host.reserved(target)) {
            return false;
        }
        return host.target(target)
                .map(there -> there instanceof Target ours && ours.free(lun))
                .orElse(true);
    }

    /** A number that no other place of the machine's first adapters has. */
    int number() {
        return scsiId * host.luns() + lun;
    }

    /** Puts a logical unit here. */
    void put(LogicalUnit unit) {
        Target target = host.target(scsiId)
                .map(Target.class::cast)
                .orElseGet(() -> new Target(host.id() + " target " + scsiId));
        target.add(lun, unit);
        if (host.target(scsiId).isEmpty()) {
            host.attach(scsiId, target);
        }
        host.lunAdded(scsiId, lun);
    }

    /** Takes it out again; its commands come back aborted. */
    void take(LogicalUnit unit) {
        host.target(scsiId).map(Target.class::cast).ifPresent(target -> {
            target.remove(unit);
            host.lunRemoved(scsiId, lun);
            unit.close();
            if (target.luns().isEmpty()) {
                host.detach(scsiId);
            }
        });
    }

    /** The Open Firmware path, as firmware is told it. */
    String firmwarePath() {
        return host.pciAddress().map(pci -> pci.firmwarePath("scsi")).orElse("")
                + String.format("/channel@0/disk@%x,%x", scsiId, lun);
    }

    /** Tells the adapter that the logical unit has changed. */
    void changed(int asc, int ascq) {
        host.lunChanged(scsiId, lun, asc, ascq);
    }

    @Override
    public String toString() {
        return host.id() + ":" + scsiId + ":" + lun;
    }
}
