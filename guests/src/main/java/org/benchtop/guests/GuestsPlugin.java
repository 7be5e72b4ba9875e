package org.benchtop.guests;

import java.util.List;
import org.benchtop.guests.debian.DebianBootSource;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.guest.BootSourceType;
import org.benchtop.spi.guest.GuestProgramType;

/** Offers the guest programs and Debian guests to the engine. */
public final class GuestsPlugin implements Plugin {
    @Override
    public String name() {
        return "guests";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<GuestProgramType> guestPrograms() {
        return List.copyOf(GuestPrograms.list());
    }

    @Override
    public List<BootSourceType<?>> bootSources() {
        return List.of(new DebianBootSource());
    }
}
