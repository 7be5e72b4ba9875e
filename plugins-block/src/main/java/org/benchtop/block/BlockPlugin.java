package org.benchtop.block;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.block.filter.FaultType;
import org.benchtop.block.filter.OverlayType;
import org.benchtop.block.filter.ThrottleType;
import org.benchtop.block.filter.TraceType;
import org.benchtop.block.http.HttpType;
import org.benchtop.block.image.ReadOnlyImageFormat;
import org.benchtop.block.image.ReadOnlyImageType;
import org.benchtop.block.nbd.NbdType;
import org.benchtop.block.qcow2.Qcow2Type;
import org.benchtop.spi.Plugin;
import org.benchtop.spi.Spi;
import org.benchtop.spi.SpiVersion;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.image.ImageFormat;

/** The block backends that come with Benchtop. */
public final class BlockPlugin implements Plugin {
    @Override
    public String name() {
        return "block";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(Spi.MAJOR, Spi.MINOR);
    }

    @Override
    public List<ImageFormat> imageFormats() {
        List<ImageFormat> formats = new ArrayList<>(ReadOnlyImageFormat.all());
        formats.addAll(ImageFormats.all());
        return List.copyOf(formats);
    }

    @Override
    public List<BlockBackendType<?>> blockBackendTypes() {
        return List.of(
                new FileType(),
                new MemoryType(),
                new NullType(),
                new Qcow2Type(),
                new OverlayType(),
                new ThrottleType(),
                new FaultType(),
                new TraceType(),
                new PhyType(),
                new NbdType(),
                new HttpType(),
                new ReadOnlyImageType(ReadOnlyImageType.Format.VHD),
                new ReadOnlyImageType(ReadOnlyImageType.Format.VHDX),
                new ReadOnlyImageType(ReadOnlyImageType.Format.VMDK));
    }
}
