package org.benchtop.spi;

import java.util.List;
import org.benchtop.spi.block.BlockBackendType;
import org.benchtop.spi.chardev.ChardevType;
import org.benchtop.spi.cpu.CpuEngine;
import org.benchtop.spi.device.DeviceType;
import org.benchtop.spi.device.MachineType;
import org.benchtop.spi.guest.BootSourceType;
import org.benchtop.spi.guest.GuestProgramType;
import org.benchtop.spi.image.ImageFormat;
import org.benchtop.spi.net.NetBackendType;

/**
 * The one service interface: everything that can be plugged into a machine comes from an implementation of this,
 * found by {@link java.util.ServiceLoader}.
 *
 * <p>Implementations are created with their public no-argument constructor and must be cheap to create. The lists
 * may be asked for repeatedly and from any thread.
 */
public interface Plugin {
    /** A short unique name, such as {@code virtio}. */
    String name();

    /**
     * The contract this plugin was compiled against: {@code new SpiVersion(Spi.MAJOR, Spi.MINOR)}.
     *
     * <p>Not a default method, because only the plugin's own class file knows the answer.
     */
    SpiVersion spiVersion();

    /** Devices for the {@code devices:} section. */
    default List<DeviceType<?>> deviceTypes() {
        return List.of();
    }

    /** Block backends and filters for the {@code drives:} section. */
    default List<BlockBackendType<?>> blockBackendTypes() {
        return List.of();
    }

    /** Image formats for {@code benchtop image}. */
    default List<ImageFormat> imageFormats() {
        return List.of();
    }

    /** Character backends for the {@code chardevs:} section. */
    default List<ChardevType<?>> chardevTypes() {
        return List.of();
    }

    /** Network backends for the {@code netdevs:} section. */
    default List<NetBackendType<?>> netBackendTypes() {
        return List.of();
    }

    /** CPU engines for the {@code accel:} key. */
    default List<CpuEngine<?>> cpuEngines() {
        return List.of();
    }

    /** Boards for the {@code machine:} key. */
    default List<MachineType> machineTypes() {
        return List.of();
    }

    /** Programs for {@code boot: {guest: NAME}}. */
    default List<GuestProgramType> guestPrograms() {
        return List.of();
    }

    /** Makers of kernels and RAM disks for {@code boot: {NAME: {options}}}. */
    default List<BootSourceType<?>> bootSources() {
        return List.of();
    }
}
