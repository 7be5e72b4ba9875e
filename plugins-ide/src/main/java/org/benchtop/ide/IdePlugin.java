package org.benchtop.ide;

import java.util.List;
import java.util.function.BiFunction;
import org.benchtop.ide.ahci.Ahci;
import org.benchtop.ide.piix.PiixIde;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.pci.PciAddress;

/** IDE and AHCI controllers and their drives. */
public final class IdePlugin implements Plugin {
    @Override
    public String name() {
        return "ide";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<DeviceType<?>> deviceTypes() {
        return List.of(
                piix("piix3-ide", "Intel PIIX3 IDE controller (8086:7010), bus-master DMA", PiixIde.Chip.PIIX3),
                piix("piix4-ide", "Intel PIIX4 IDE controller (8086:7111), Ultra DMA", PiixIde.Chip.PIIX4),
                new Type<>(
                        "ich9-ahci",
                        "Intel ICH9 AHCI host adapter (8086:2922), native command queuing",
                        AhciOptions.class,
                        (o, c) -> new Ahci(c.id(), o.addr().map(PciAddress::parse), o.ports())),
                new Type<>(
                        "ide-hd",
                        "ATA disk on an IDE or AHCI controller",
                        IdeHdOptions.class,
                        (o, c) -> IdeDrive.disk(c.id(), o)),
                new Type<>(
                        "ide-cd",
                        "ATAPI CD/DVD drive on an IDE or AHCI controller",
                        IdeCdOptions.class,
                        (o, c) -> IdeDrive.cd(c.id(), o)));
    }

    private static DeviceType<ControllerOptions> piix(String name, String summary, PiixIde.Chip chip) {
        return new Type<>(
                name,
                summary,
                ControllerOptions.class,
                (o, c) -> new PiixIde(c.id(), chip, o.addr().map(PciAddress::parse)));
    }

    /** A device type made of its parts. */
    private record Type<O extends Record>(
            String name, String summary, Class<O> optionsType, BiFunction<O, CreateContext, Device> factory)
            implements DeviceType<O> {
        @Override
        public Device create(O options, CreateContext context) {
            return factory.apply(options, context);
        }
    }
}
