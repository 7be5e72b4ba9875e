package org.benchtop.virtio.pci;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.device.FwCfg;
import org.benchtop.spi.device.RegisterMap;
import org.benchtop.spi.state.SavedState;
import org.benchtop.virtio.device.VirtioCore;
import org.benchtop.virtio.device.VirtioDevice;
import org.benchtop.virtio.device.VirtioFeatures;

/** Puts a virtio device of any type on the PCI bus. */
public final class VirtioPciDevice implements Device {
    private static final int STATE_VERSION = 1;
    private static final long GUEST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String id;
    private final VirtioPciOptions options;
    private final Factory factory;
    private Optional<Attached> attached = Optional.empty();

    /** Makes the device when it is attached, with its backends. */
    @FunctionalInterface
    public interface Factory {
        /** Throws {@link BenchtopException} when something is missing, leaving nothing open. */
        VirtioDevice create(DeviceContext context);
    }

    private record Attached(VirtioCore core, VirtioPciTransport transport, Optional<FwCfg.BootEntry> boot) {}

    public VirtioPciDevice(String id, VirtioPciOptions options, Factory factory) {
        this.id = id;
        this.options = options;
        this.factory = factory;
    }

    @Override
    public void attach(DeviceContext context) {
        long ringFeatures = (options.eventIdx() ? VirtioFeatures.VIRTIO_F_EVENT_IDX : 0)
                | (options.indirectDesc() ? VirtioFeatures.VIRTIO_F_INDIRECT_DESC : 0);
        VirtioCore core = new VirtioCore(factory.create(context), context, ringFeatures, GUEST_WAIT_NANOS);
        try {
            VirtioPciTransport transport = new VirtioPciTransport(core, context, options);
            core.transport(transport);
            core.device().placed(transport.address());
            Optional<FwCfg.BootEntry> boot = FwCfg.boot(
                    context, options.bootindex(), () -> transport.address().firmwarePath("scsi") + "/disk@0,0");
            attached = Optional.of(new Attached(core, transport, boot));
        } catch (RuntimeException e) {
            core.close();
            throw e;
        }
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    @Override
    public void reset() {
        attached().core.reset();
        attached().transport.resetFunction();
    }

    @Override
    public void pause() {
        attached().core.pause();
    }

    @Override
    public void resume() {
        attached().core.resume();
    }

    @Override
    public SavedState saveState() {
        return new SavedState(STATE_VERSION, attached().transport.save());
    }

    @Override
    public void restoreState(SavedState state) {
        if (state.version() != STATE_VERSION || !(state.content() instanceof VirtioPciState content)) {
            throw BenchtopException.config(id + ": saved state has version " + state.version() + " of "
                    + state.content().getClass().getSimpleName() + ", allowed: " + STATE_VERSION
                    + " of VirtioPciState");
        }
        attached().transport.restore(content);
    }

    @Override
    public List<RegisterMap<?>> registers() {
        List<RegisterMap<?>> all = new ArrayList<>();
        attached.ifPresent(a -> {
            all.add(a.transport.common());
            all.addAll(a.core.device().registers());
        });
        return List.copyOf(all);
    }

    @Override
    public Map<String, Object> inspect() {
        return attached.map(a -> a.core.inspect()).orElse(Map.of());
    }

    @Override
    public void close() {
        Optional<Attached> closing = attached;
        attached = Optional.empty();
        closing.ifPresent(a -> {
            a.boot.ifPresent(FwCfg.BootEntry::close);
            a.core.stop();
            a.transport.close();
            a.core.close();
        });
    }
}
