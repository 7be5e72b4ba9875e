package org.benchtop.scsi;

import java.util.Map;
import java.util.Optional;
import org.benchtop.scsi.target.CdOptions;
import org.benchtop.scsi.target.CdUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.spi.scsi.ScsiHosts;
import org.benchtop.spi.state.SavedState;

/** {@code scsi-cd}: a CD drive in a place of an adapter. Its commands run on the adapter's event loops. */
public final class ScsiCd implements Device {
    private static final int STATE_VERSION = 1;

    private final String id;
    private final ScsiCdOptions options;
    private Optional<Attached> attached = Optional.empty();

    private record Attached(Place place, CdUnit unit, Optional<FwCfg.BootEntry> boot) {}

    public ScsiCd(String id, ScsiCdOptions options) {
        this.id = id;
        this.options = options;
    }

    @Override
    public void attach(DeviceContext context) {
        Place place = Place.find(id, ScsiHosts.of(context), options.bus(), options.scsiId(), options.lun());
        Optional<BlockBackend> backend = options.drive().map(context::drive);
        backend.ifPresent(b -> {
            int logical = b.capabilities().logicalBlockSizeBytes();
            if (CdUnit.BLOCK_BYTES % logical != 0) {
                throw BenchtopException.config(id + ": the drive's logical block size is " + logical
                        + ", a CD's at most " + CdUnit.BLOCK_BYTES);
            }
        });
        Optional<ErrorHandling> errors = backend.map(
                b -> new ErrorHandling(id, b, options.rerror(), options.rerror(), context.machine()::requestPause));
        CdOptions chosen = new CdOptions(
                options.serial().orElseGet(() -> String.format("BT%05d", place.number() + 1)),
                options.vendor(),
                options.product(),
                options.ver(),
                options.wwn().orElse(0L));
        CdUnit unit = new CdUnit(id, chosen, backend, errors, context.stats());
        place.put(unit);
        attached =
                Optional.of(new Attached(place, unit, FwCfg.boot(context, options.bootindex(), place::firmwarePath)));
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
    public void resume() {}

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
        if (!(state.content() instanceof CdUnit.State saved)) {
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
