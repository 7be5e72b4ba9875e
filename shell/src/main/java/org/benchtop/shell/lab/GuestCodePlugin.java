package org.benchtop.shell.lab;

import java.util.List;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.guest.GuestProgramType;

/** Offers one program of a cell to machines. */
record GuestCodePlugin(GuestCode program) implements Plugin {
    @Override
    public String name() {
        return "guest program " + program.name();
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<GuestProgramType> guestPrograms() {
        return List.of(program);
    }
}
