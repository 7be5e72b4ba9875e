package org.benchtop.shell.lab;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;

/**
 * A machine's parts with their live state.
 *
 * @param machine its name
 * @param devices in the order of attachment
 * @param backends drives, chardevs and network backends: name to a line about each
 */
public record DeviceTree(String machine, List<DeviceView> devices, Map<String, String> backends) {
    public DeviceTree {
        devices = List.copyOf(devices);
        backends = java.util.Collections.unmodifiableMap(new java.util.LinkedHashMap<>(backends));
    }

    /**
     * A device.
     *
     * @throws BenchtopException of kind CONFIG, listing what there is, if there is none of that id
     */
    public DeviceView device(String id) {
        return find(id).orElseThrow(() -> BenchtopException.config("machine " + machine + " has no device \"" + id
                + "\" (devices: "
                + String.join(", ", devices.stream().map(DeviceView::id).toList()) + ")"));
    }

    /** A device, if there is one of that id. */
    public Optional<DeviceView> find(String id) {
        return devices.stream().filter(d -> d.id().equals(id)).findFirst();
    }

    /** One line for each part; a device by itself shows its registers. */
    @Override
    public String toString() {
        TextColumns table = new TextColumns("lll");
        for (DeviceView device : devices) {
            table.row(device.id(), device.type(), String.join(", ", device.places()));
        }
        StringBuilder text = new StringBuilder(machine).append('\n').append(table.render("  "));
        TextColumns lines = new TextColumns("ll");
        backends.forEach(lines::row);
        return text.append(lines.render("  ")).toString().stripTrailing();
    }
}
