package org.benchtop.scsi;

import java.util.List;
import java.util.function.BiFunction;
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
        return List.of();
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
