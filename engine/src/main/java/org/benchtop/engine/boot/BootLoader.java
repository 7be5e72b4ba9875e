package org.benchtop.engine.boot;

import java.util.function.Function;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.spi.guest.GuestProgramType;

/** Reads what a machine starts with. */
public final class BootLoader {
    private BootLoader() {}

    /**
     * Reads and checks an image.
     *
     * @param guestPrograms finds an embedded program by name
     * @throws org.benchtop.spi.BenchtopException of kind IMAGE, in one line naming the file and the reason
     */
    public static BootImage load(BootSpec spec, Function<String, GuestProgramType> guestPrograms) {
        return switch (spec) {
            case BootSpec.None _ -> new NoImage();
            case BootSpec.Guest guest -> new ElfImage(guestPrograms.apply(guest.program()).name());
            case BootSpec.Kernel kernel -> new BzImage(kernel.kernel().toString());
            case BootSpec.Firmware firmware -> new FirmwareImage(firmware.firmware().toString());
            case BootSpec.Flat flat -> new FlatImage(flat.flat().toString());
        };
    }
}
