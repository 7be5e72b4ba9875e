package org.benchtop.engine.boot;

import java.util.Optional;
import java.util.function.Function;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.guest.BootFiles;
import org.benchtop.spi.guest.GuestProgramType;

/** Reads what a machine starts with. */
public final class BootLoader {
    private BootLoader() {}

    /** {@link #load(BootSpec, Function, Function)} where there are no boot sources. */
    public static BootImage load(BootSpec spec, Function<String, GuestProgramType> guestPrograms) {
        return load(spec, guestPrograms, source -> {
            throw BenchtopException.config(
                    "there is no boot source \"" + source.source().type() + "\"");
        });
    }

    /**
     * Reads and checks an image.
     *
     * @param guestPrograms finds an embedded program by name
     * @param sources makes or fetches what a plugin's boot source stands for
     * @throws org.benchtop.spi.BenchtopException of kind IMAGE, in one line naming the file and the reason
     */
    public static BootImage load(
            BootSpec spec,
            Function<String, GuestProgramType> guestPrograms,
            Function<BootSpec.Source, BootFiles> sources) {
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
            case BootSpec.Source source -> {
                BootFiles files = sources.apply(source);
                yield kernel(
                        new BootSpec.Kernel(files.kernel(), files.initrd(), files.cmdline(), BootSpec.Protocol.AUTO));
            }
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
