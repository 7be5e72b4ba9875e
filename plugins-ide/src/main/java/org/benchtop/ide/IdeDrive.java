package org.benchtop.ide;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.ide.drive.AtaDevice;
import org.benchtop.ide.drive.AtaDrive;
import org.benchtop.ide.drive.AtaDriveOptions;
import org.benchtop.ide.drive.AtaGeometry;
import org.benchtop.ide.drive.AtapiDrive;
import org.benchtop.ide.drive.AtapiDriveOptions;
import org.benchtop.ide.piix.PiixIde;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.state.SavedState;

/**
 * A disk or CD drive in a place of a controller. In a machine without any controller it brings along a {@code piix3-ide}
 * as PCs have it, where further drives find their places too.
 */
final class IdeDrive implements Device {
    private final String id;
    private final Where where;
    private final Factory factory;
    private Optional<PiixIde> ownController = Optional.empty();
    private Optional<Attached> attached = Optional.empty();

    /** Which place the options ask for, and who works for the drive. */
    private record Where(
            Optional<String> drive,
            Optional<String> bus,
            Optional<Integer> channel,
            Optional<Integer> unit,
            Optional<String> iothread,
            ErrorPolicy rerror,
            ErrorPolicy werror,
            Optional<Integer> bootindex) {}

    /** Makes the device for its place. */
    private interface Factory {
        AtaDevice create(String serial, Optional<BlockCapabilities> capabilities, boolean serialAta);
    }

    private record Attached(AtaDevice device, DriveSlots.Plug plug, Optional<FwCfg.BootEntry> boot) {}

    private IdeDrive(String id, Where where, Factory factory) {
        this.id = id;
        this.where = where;
        this.factory = factory;
    }

    /** An {@code ide-hd}. */
    static IdeDrive disk(String id, IdeHdOptions o) {
        Where where = new Where(
                Optional.of(o.drive()),
                o.bus(),
                o.channel(),
                o.unit(),
                o.iothread(),
                o.rerror(),
                o.werror(),
                o.bootindex());
        return new IdeDrive(id, where, (serial, capabilities, serialAta) -> {
            BlockCapabilities c = capabilities.orElseThrow();
            int logical = o.logicalBlockSize().orElse(c.logicalBlockSizeBytes());
            Optional<AtaGeometry> geometry = o.cyls()
                    .map(cyls -> new AtaGeometry(
                            cyls, o.heads().orElseThrow(), o.secs().orElseThrow()));
            AtaDriveOptions options = new AtaDriveOptions(
                    o.serial().orElse(serial),
                    o.model(),
                    o.version(),
                    o.wwn().orElse(0L),
                    o.rotationRate(),
                    o.writeCache().orElse(c.cacheMode().writeCache()),
                    o.discard() && c.discard(),
                    logical,
                    o.physicalBlockSize().orElse(Math.max(logical, c.physicalBlockSizeBytes())),
                    geometry);
            return new AtaDrive(id, options, c, serialAta);
        });
    }

    /** An {@code ide-cd}. */
    static IdeDrive cd(String id, IdeCdOptions o) {
        Where where = new Where(
                o.drive(), o.bus(), o.channel(), o.unit(), o.iothread(), o.rerror(), ErrorPolicy.REPORT, o.bootindex());
        return new IdeDrive(id, where, (serial, capabilities, serialAta) -> {
            AtapiDrive drive = new AtapiDrive(
                    id,
                    new AtapiDriveOptions(
                            o.serial().orElse(serial),
                            o.model(),
                            o.version(),
                            o.wwn().orElse(0L)));
            capabilities.ifPresent(c -> {
                if (AtapiDrive.SECTOR_BYTES % c.logicalBlockSizeBytes() != 0) {
                    throw BenchtopException.config(id + ": the drive's logical block size is "
                            + c.logicalBlockSizeBytes() + ", a CD's at most " + AtapiDrive.SECTOR_BYTES);
                }
                drive.insert(c.sizeBytes());
            });
            return drive;
        });
    }

    @Override
    public void attach(DeviceContext context) {
        EventLoop loop = where.iothread.map(context::eventLoop).orElseGet(context::eventLoop);
        boolean alone = where.bus.isEmpty() && Controllers.find(context).isEmpty();
        if (alone) {
            PiixIde controller = new PiixIde(id, PiixIde.Chip.PIIX3, Optional.empty());
            controller.attach(context);
            ownController = Optional.of(controller);
        }
        try {
            Controllers controllers = Controllers.find(context)
                    .orElseThrow(() -> BenchtopException.config(id + ": no controller \"" + where.bus.orElse("")
                            + "\"; a controller must be listed before its drives"));
            Controllers.Place place = controllers.place(id, where.bus, where.channel, where.unit);
            Optional<BlockBackend> backend = where.drive.map(context::drive);
            DriveSlots controller = place.controller();
            String serial = String.format("BT%05d", place.channel() * controller.units() + place.unit() + 1);
            AtaDevice device = factory.create(serial, backend.map(BlockBackend::capabilities), controller.serialAta());
            Optional<DriveSlots.Medium> medium = backend.map(b -> new DriveSlots.Medium(
                    b, new ErrorHandling(id, b, where.rerror, where.werror, context.machine()::requestPause)));
            DriveSlots.Plug plug =
                    controller.plug(place.channel(), place.unit(), device, medium, loop, context.stats());
            attached = Optional.of(new Attached(
                    device,
                    plug,
                    FwCfg.boot(
                            context, where.bootindex, () -> controller.firmwarePath(place.channel(), place.unit()))));
        } catch (RuntimeException e) {
            ownController.ifPresent(PiixIde::close);
            ownController = Optional.empty();
            throw e;
        }
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    @Override
    public void reset() {
        ownController.ifPresent(PiixIde::reset);
        attached().plug.reset();
    }

    @Override
    public void pause() {
        ownController.ifPresent(PiixIde::pause);
        attached().plug.pause();
    }

    @Override
    public void resume() {
        attached().plug.resume();
    }

    /** Saved state of a drive, and of the controller that it has brought along. */
    record State(AtaDevice.State device, Optional<SavedState> controller) {}

    @Override
    public SavedState saveState() {
        AtaDevice.State[] saved = new AtaDevice.State[1];
        attached().plug.locked(() -> saved[0] = attached().device.save());
        return new SavedState(1, new State(saved[0], ownController.map(PiixIde::saveState)));
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != 1) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    id + ": saved state has version " + state.version() + ", this build reads version 1");
        }
        if (!(state.content() instanceof State saved) || saved.controller.isPresent() != ownController.isPresent()) {
            throw BenchtopException.config(id + ": saved state is of another device: "
                    + state.content().getClass().getSimpleName());
        }
        ownController.ifPresent(c -> c.restoreState(saved.controller.orElseThrow()));
        attached().plug.locked(() -> attached().device.restore(saved.device));
    }

    @Override
    public List<RegisterMap<?>> registers() {
        return ownController.map(PiixIde::registers).orElse(List.of());
    }

    @Override
    public Map<String, Object> inspect() {
        if (attached.isEmpty()) {
            return Map.of();
        }
        Map<String, Object> map = new java.util.LinkedHashMap<>();
        attached()
                .plug
                .locked(() -> map.putAll(
                        switch (attached().device) {
                            case AtaDrive disk -> disk.inspect();
                            case AtapiDrive cd -> cd.inspect();
                        }));
        ownController.ifPresent(c -> map.put("controller", c.inspect()));
        return map;
    }

    @Override
    public void close() {
        Optional<Attached> closing = attached;
        attached = Optional.empty();
        closing.ifPresent(a -> {
            a.boot.ifPresent(FwCfg.BootEntry::close);
            a.plug.close();
        });
        ownController.ifPresent(PiixIde::close);
        ownController = Optional.empty();
    }
}
