package org.benchtop.virtio.scsi;

import org.benchtop.spi.CreateContext;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiHosts;
import org.benchtop.virtio.device.VirtioDevice;
import org.benchtop.virtio.pci.VirtioPciDevice;

/** {@code virtio-scsi-pci}. */
public final class VirtioScsiPciType implements DeviceType<VirtioScsiPciOptions> {
    @Override
    public String name() {
        return "virtio-scsi-pci";
    }

    @Override
    public String summary() {
        return "virtio SCSI adapter on the PCI bus (modern, MSI-X, multi-queue); its disks are scsi-hd";
    }

    @Override
    public Class<VirtioScsiPciOptions> optionsType() {
        return VirtioScsiPciOptions.class;
    }

    @Override
    public Device create(VirtioScsiPciOptions options, CreateContext context) {
        return new VirtioPciDevice(context.id(), options.pci(), attached -> scsi(options, attached));
    }

    private static VirtioDevice scsi(VirtioScsiPciOptions options, DeviceContext context) {
        EventLoop loop = options.iothread().map(context::eventLoop).orElseGet(context::eventLoop);
        VirtioScsi scsi = new VirtioScsi(context.id(), options.scsi(), loop, context.memory(), context.stats());
        scsi.announced(ScsiHosts.add(context, scsi));
        return scsi;
    }
}
