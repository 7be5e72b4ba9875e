package org.benchtop.spi.scsi;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.benchtop.spi.device.DeviceContext;

/** The host bus adapters of a machine, where disks look for a place. The first adapter offers it to the others. */
public final class ScsiHosts {
    private final List<ScsiHost> all = new CopyOnWriteArrayList<>();

    private ScsiHosts() {}

    /** Announces an adapter, when it is attached; {@link #remove} it when it is closed. */
    public static ScsiHosts add(DeviceContext context, ScsiHost host) {
        ScsiHosts hosts = context.services().find(ScsiHosts.class).orElseGet(() -> {
            ScsiHosts first = new ScsiHosts();
            context.services().provide(ScsiHosts.class, first);
            return first;
        });
        hosts.all.add(host);
        return hosts;
    }

    /** The machine's adapters in the order of their attachment. */
    public static List<ScsiHost> of(DeviceContext context) {
        return context.services()
                .find(ScsiHosts.class)
                .map(hosts -> List.copyOf(hosts.all))
                .orElse(List.of());
    }

    /** Takes an adapter away. */
    public void remove(ScsiHost host) {
        all.remove(host);
    }
}
