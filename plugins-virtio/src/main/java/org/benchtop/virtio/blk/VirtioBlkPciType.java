package org.benchtop.virtio.blk;

import java.util.List;
import org.benchtop.spi.CreateContext;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.virtio.device.VirtioDevice;
import org.benchtop.virtio.pci.VirtioPciDevice;

/** {@code virtio-blk-pci}. */
public final class VirtioBlkPciType implements DeviceType<VirtioBlkPciOptions> {
    @Override
    public String name() {
        return "virtio-blk-pci";
    }

    @Override
    public String summary() {
        return "virtio disk on the PCI bus (modern, MSI-X, multi-queue)";
    }

    @Override
    public Class<VirtioBlkPciOptions> optionsType() {
        return VirtioBlkPciOptions.class;
    }

    @Override
    public Device create(VirtioBlkPciOptions options, CreateContext context) {
        return new VirtioPciDevice(context.id(), options.pci(), attached -> blk(options, attached));
    }

    private static VirtioDevice blk(VirtioBlkPciOptions options, DeviceContext context) {
        List<EventLoop> loops =
                options.queueIothreads().stream().map(context::eventLoop).toList();
        if (loops.isEmpty()) {
            loops = List.of(options.iothread().map(context::eventLoop).orElseGet(context::eventLoop));
        }
        return new VirtioBlk(
                context.id(),
                options.blk(),
                context.drive(options.drive()),
                loops,
                context.memory(),
                context.machine()::requestPause,
                context.stats());
    }
}
