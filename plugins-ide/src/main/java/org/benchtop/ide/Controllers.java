package org.benchtop.ide;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.DeviceContext;

/** The controllers of a machine, where drives look for a place; the first controller offers it to the others. */
public final class Controllers {
    private final List<DriveSlots> all = new CopyOnWriteArrayList<>();

    private Controllers() {}

    /** The machine's controllers, as far as there are any. */
    static Optional<Controllers> find(DeviceContext context) {
        return context.services().find(Controllers.class);
    }

    /** Announces a controller. */
    public static Controllers add(DeviceContext context, DriveSlots controller) {
        Controllers controllers = find(context).orElseGet(() -> {
            Controllers first = new Controllers();
            context.services().provide(Controllers.class, first);
            return first;
        });
        controllers.all.add(controller);
        return controllers;
    }

    /** Takes a controller away. */
    public void remove(DriveSlots controller) {
        all.remove(controller);
    }

    /** A place on a controller. */
    record Place(DriveSlots controller, int channel, int unit) {}

    /** The place that a drive asks for, or the first free one of what it leaves open. */
    Place place(String id, Optional<String> bus, Optional<Integer> channel, Optional<Integer> unit) {
        List<DriveSlots> candidates =
                all.stream().filter(c -> bus.map(c.id()::equals).orElse(true)).toList();
        if (candidates.isEmpty()) {
            throw BenchtopException.config(id + ": no controller \"" + bus.orElse("") + "\"; there are "
                    + all.stream().map(DriveSlots::id).toList());
        }
        for (DriveSlots controller : candidates) {
            for (int c = 0; c < controller.channels(); c++) {
                for (int u = 0; u < controller.units(); u++) {
                    boolean asked = channel.orElse(c) == c && unit.orElse(u) == u;
                    if (asked && controller.free(c, u)) {
                        return new Place(controller, c, u);
                    }
                }
            }
        }
        DriveSlots first = candidates.getFirst();
        throw BenchtopException.config(id + ": " + wanted(channel, unit) + " of " + first.id()
                + " is taken or does not exist; it has channels 0.." + (first.channels() - 1) + " with units 0.."
                + (first.units() - 1));
    }

    private static String wanted(Optional<Integer> channel, Optional<Integer> unit) {
        return channel.map(c -> "channel " + c).orElse("every channel")
                + unit.map(u -> " unit " + u).orElse("");
    }
}
