package org.benchtop.guests.debian;

import java.util.Optional;
import org.benchtop.spi.guest.BootFiles;
import org.benchtop.spi.guest.BootSourceContext;
import org.benchtop.spi.guest.BootSourceType;

/** {@code boot: {debian: {…}}}. */
public final class DebianBootSource implements BootSourceType<DebianOptions> {
    @Override
    public String name() {
        return "debian";
    }

    @Override
    public String summary() {
        return "Linux made of Debian packages: kernel, modules, packages and an init script, by the machine's apt";
    }

    @Override
    public Class<DebianOptions> optionsType() {
        return DebianOptions.class;
    }

    @Override
    public BootFiles prepare(DebianOptions options, BootSourceContext context) {
        DebianFiles files = DebianGuest.prepare(options, context::resolve, context::progress);
        return new BootFiles(files.kernel(), Optional.of(files.initrd()), options.cmdline());
    }
}
