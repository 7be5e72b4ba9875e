package org.benchtop.xen;

import java.util.List;
import java.util.function.BiFunction;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;

/** Xen's interfaces for unmodified guests: the platform, and backends for their paravirtual drivers. */
public final class XenPlugin implements Plugin {
    @Override
    public String name() {
        return "xen";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<DeviceType<?>> deviceTypes() {
        return List.of(
                new Type<>(
                        "xen-platform",
                        "makes the machine a Xen domain (HVM or PVH); what the key \"xen\" of a machine stands for",
                        XenOptions.class,
                        (o, c) -> new XenPlatform(c.id(), o)),
                new Type<>(
                        "xen-disk",
                        "Xen paravirtual disk (blkback) for xen-blkfront",
                        XenDiskOptions.class,
                        (o, c) -> new XenDisk(c.id(), o)),
                new Type<>(
                        "xen-console",
                        "Xen paravirtual console, hvc0 in Linux",
                        XenConsoleOptions.class,
                        (o, c) -> new XenConsole(c.id(), o)));
    }

    /** The domain that a backend belongs to. */
    static XenDomain domain(String id, DeviceContext context) {
        return context.services()
                .find(XenDomain.class)
                .orElseThrow(() -> BenchtopException.config(
                        id + " needs a Xen domain: add \"xen: {version: 4.17, mode: hvm}\" to the machine"));
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
