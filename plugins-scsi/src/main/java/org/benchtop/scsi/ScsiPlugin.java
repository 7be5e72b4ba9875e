package org.benchtop.scsi;

import java.util.List;
import java.util.function.BiFunction;
import org.benchtop.scsi.lsi.Lsi53c895a;
import org.benchtop.scsi.lsi.LsiOptions;
import org.benchtop.scsi.megasas.Megasas;
import org.benchtop.scsi.megasas.MegasasOptions;
import org.benchtop.scsi.pvscsi.Pvscsi;
import org.benchtop.scsi.pvscsi.PvscsiOptions;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceType;

/** SCSI host bus adapters, and the disks and CD drives that sit behind them or behind adapters of other plugins. */
public final class ScsiPlugin implements Plugin {
    @Override
    public String name() {
        return "scsi";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<DeviceType<?>> deviceTypes() {
        return List.of(
                new Type<>(
                        "lsi53c895a",
                        "LSI 53C895A SCSI host adapter (1000:0012) with its SCRIPTS processor",
                        LsiOptions.class,
                        (o, c) -> new Lsi53c895a(c.id(), o)),
                new Type<>(
                        "pvscsi",
                        "VMware PVSCSI adapter (15ad:07c0), MSI-X",
                        PvscsiOptions.class,
                        (o, c) -> new Pvscsi(c.id(), o)),
                new Type<>(
                        "megasas",
                        "LSI MegaRAID SAS 1078 adapter (1000:0060)",
                        MegasasOptions.class,
                        (o, c) -> new Megasas(c.id(), o)),
                new Type<>(
                        "scsi-hd",
                        "SCSI disk behind an adapter",
                        ScsiHdOptions.class,
                        (o, c) -> new ScsiDisk(c.id(), o)),
                new Type<>(
                        "scsi-cd",
                        "SCSI CD/DVD drive behind an adapter",
                        ScsiCdOptions.class,
                        (o, c) -> new ScsiCd(c.id(), o)));
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
