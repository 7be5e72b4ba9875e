package org.benchtop.scsi;

import java.util.Map;
import java.util.Optional;
import org.benchtop.scsi.target.DiskOptions;
import org.benchtop.scsi.target.DiskUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.spi.scsi.ScsiHosts;
import org.benchtop.spi.state.SavedState;

/** {@code scsi-hd}: a disk in a place of an adapter. Its commands run on the adapter's event loops. */
public final class ScsiDisk implements Device {
    private static final int STATE_VERSION = 1;

    private final String id;
    private final ScsiHdOptions options;
    private Optional<Attached> attached = Optional.empty();

    private record Attached(Place place, DiskUnit unit, Optional<FwCfg.BootEntry> boot) {}

    public ScsiDisk(String id, ScsiHdOptions options) {
        this.id = id;
        this.options = options;
    }

    @Override
    public void attach(DeviceContext context) {
        Place place = Place.find(id, ScsiHosts.of(context), options.bus(), options.scsiId(), options.lun());
        BlockBackend backend = context.drive(options.drive());
        ErrorHandling errors =
                new ErrorHandling(id, backend, options.rerror(), options.werror(), context.machine()::requestPause);
        DiskUnit unit = new DiskUnit(id, diskOptions(backend.capabilities(), place), backend, errors, context.stats());
        place.put(unit);
        attached =
                Optional.of(new Attached(place, unit, FwCfg.boot(context, options.bootindex(), place::firmwarePath)));
    }

    private DiskOptions diskOptions(BlockCapabilities c, Place place) {
        int logical = options.logicalBlockSize().orElse(c.logicalBlockSizeBytes());
        return new DiskOptions(
                options.serial().orElseGet(() -> String.format("BT%05d", place.number() + 1)),
                options.vendor(),
                options.product(),
                options.ver(),
                options.wwn().orElse(0L),
                options.rotationRate(),
                options.writeCache().orElse(c.cacheMode().writeCache()),
                options.discard() && c.discard(),
                options.readOnly() || c.readOnly(),
                options.removable(),
                logical,
                options.physicalBlockSize().orElse(Math.max(logical, c.physicalBlockSizeBytes())));
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    @Override
    public void reset() {
        attached().unit.powerOn();
    }

    @Override
    public void pause() {
        attached().unit.awaitQuiet();
    }

    @Override
    public void resume() {
        if (attached().unit.refreshCapacity()) {
            attached().place.changed(0x2a, 0x09);
        }
    }

    @Override
    public SavedState saveState() {
        return new SavedState(STATE_VERSION, attached().unit.save());
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != STATE_VERSION) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    id + ": saved state has version " + state.version() + ", this build reads version "
                            + STATE_VERSION);
        }
        if (!(state.content() instanceof DiskUnit.State saved)) {
            throw BenchtopException.config(id + ": saved state is of another device: "
                    + state.content().getClass().getSimpleName());
        }
        attached().unit.restore(saved);
    }

    @Override
    public Map<String, Object> inspect() {
        return attached.map(a -> {
                    Map<String, Object> map = a.unit.inspect();
                    map.put("place", a.place.toString());
                    return map;
                })
                .orElse(Map.of());
    }

    @Override
    public void close() {
        Optional<Attached> closing = attached;
        attached = Optional.empty();
        closing.ifPresent(a -> {
            a.boot.ifPresent(FwCfg.BootEntry::close);
            a.place.take(a.unit);
        });
    }
}
