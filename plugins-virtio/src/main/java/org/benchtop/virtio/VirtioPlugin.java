package org.benchtop.virtio;

import java.util.List;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.virtio.blk.VirtioBlkPciType;
import org.benchtop.virtio.scsi.VirtioScsiPciType;

/** Paravirtual devices after VIRTIO 1.2. */
public final class VirtioPlugin implements Plugin {
    @Override
    public String name() {
        return "virtio";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<DeviceType<?>> deviceTypes() {
        return List.of(new VirtioBlkPciType(), new VirtioScsiPciType());
    }
}
