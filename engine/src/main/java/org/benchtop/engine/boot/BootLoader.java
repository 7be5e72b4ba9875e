package org.benchtop.engine.boot;

import java.util.Optional;
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
            case BootSpec.None nothing -> new NoImage();
            case BootSpec.Guest guest ->
                new GuestProgramImage(KernelImage.parse(
                        new ImageBytes(
                                "guest program " + guest.program(),
                                guestPrograms.apply(guest.program()).elf()),
                        guest.cmdline(),
                        Optional.empty(),
                        BootSpec.Protocol.PVH));
            case BootSpec.Kernel kernel -> kernel(kernel);
            case BootSpec.Firmware firmware -> FirmwareImage.load(firmware.firmware());
            case BootSpec.Flat flat -> FlatImage.load(flat);
        };
    }

    private static BootImage kernel(BootSpec.Kernel spec) {
        ImageBytes image = new ImageBytes("kernel " + spec.kernel(), ImageFiles.read("kernel", spec.kernel()));
        Optional<Initrd> initrd =
                spec.initrd().map(file -> new Initrd("initrd " + file, ImageFiles.read("initrd", file)));
        return BzImage.isBzImage(image)
                ? BzImage.parse(image, spec.cmdline(), initrd, spec.protocol())
                : KernelImage.parse(image, spec.cmdline(), initrd, spec.protocol());
    }
}
