package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockCapabilities;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.state.SavedState;

/** A paravirtual disk (io/blkif.h): the backend of Linux's xen-blkfront and others, over any block backend. */
final class XenDisk implements Device {
    private static final int SECTOR = 512;
    private static final int MAX_QUEUES = 64;
    private static final int INFO_READ_ONLY = 4;

    private final String id;
    private final XenDiskOptions options;
    private Optional<Attached> attached = Optional.empty();
    /** On the domain's loop, or while that waits for us. */
    private volatile List<DiskQueue> queues = List.of();

    private record Attached(
            XenDomain domain,
            EventLoop loop,
            BlockBackend drive,
            BlockCapabilities capabilities,
            DiskLimits limits,
            Backend backend,
            DiskStats stats,
            int number) {}

    XenDisk(String id, XenDiskOptions options) {
        this.id = id;
        this.options = options;
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    @Override
    public void attach(DeviceContext context) {
        XenDomain domain = XenPlugin.domain(id, context);
        EventLoop loop = options.iothread().map(context::eventLoop).orElseGet(context::eventLoop);
        BlockBackend drive = context.drive(options.drive());
        BlockCapabilities capabilities = drive.capabilities();
        int number = domain.claimDisk(id, options.name());
        boolean readOnly = options.readOnly() || capabilities.readOnly();
        DiskLimits limits = new DiskLimits(
                capabilities.sizeBytes() / SECTOR,
                (int) Math.min(
                        options.maxIndirectSegments(),
                        Math.min(capabilities.maxSegments(), capabilities.maxTransferBytes() / Xen.PAGE_SIZE)),
                capabilities.maxSegments(),
                readOnly,
                options.discard() && capabilities.discard() && !readOnly);
        Backend backend = new Backend(
                domain,
                "vbd",
                number,
                Map.of("virtual-device", Integer.toString(number), "device-type", "disk"),
                new Connection(),
                context.logger());
        attached = Optional.of(new Attached(
                domain, loop, drive, capabilities, limits, backend, DiskStats.of(context.stats()), number));
        domain.onRestart(this::letGo, this::begin);
    }

    private final class Connection implements Backend.Handler {
        @Override
        public Map<String, String> features() {
            Attached a = attached();
            Map<String, String> map = new LinkedHashMap<>();
            map.put("mode", a.limits.readOnly() ? "r" : "w");
            map.put("device-type", "disk");
            map.put("removable", "0");
            map.put("bootable", "1");
            map.put("feature-flush-cache", "1");
            map.put("feature-barrier", "1");
            map.put("feature-persistent", options.persistent() ? "1" : "0");
            map.put("feature-discard", a.limits.discard() ? "1" : "0");
            if (a.limits.discard()) {
                map.put("discard-granularity", Integer.toString(a.capabilities.logicalBlockSizeBytes()));
                map.put("discard-alignment", "0");
                map.put("discard-secure", "0");
            }
            if (a.limits.indirectSegments() > 0) {
                map.put("feature-max-indirect-segments", Integer.toString(a.limits.indirectSegments()));
            }
            map.put("multi-queue-max-queues", Integer.toString(options.queues()));
            map.put("max-ring-page-order", Integer.toString(options.maxRingPageOrder()));
            return map;
        }

        @Override
        public Map<String, String> details() {
            Attached a = attached();
            return Map.of(
                    "sectors", Long.toString(a.limits.capacitySectors()),
                    "info", Integer.toString(a.limits.readOnly() ? INFO_READ_ONLY : 0),
                    "sector-size", Integer.toString(a.capabilities.logicalBlockSizeBytes()),
                    "physical-sector-size", Integer.toString(a.capabilities.physicalBlockSizeBytes()));
        }

        @Override
        public Optional<String> connect(Backend.Frontend frontend) {
            return connectQueues(frontend);
        }

        @Override
        public void disconnect(Runnable done) {
            Attached a = attached();
            List<DiskQueue> all = queues;
            queues = List.of();
            stopNext(a, all, 0, done);
        }

        private void stopNext(Attached a, List<DiskQueue> all, int at, Runnable done) {
            if (at == all.size()) {
                done.run();
                return;
            }
            a.loop.execute(() -> all.get(at).stop(() -> a.domain.loop().execute(() -> stopNext(a, all, at + 1, done))));
        }
    }

    private Optional<String> connectQueues(Backend.Frontend frontend) {
        Attached a = attached();
        Optional<BlkifAbi> abi = frontend.read("protocol").map(BlkifAbi::parse).orElse(Optional.of(BlkifAbi.X86_64));
        if (abi.isEmpty()) {
            return Optional.of("its protocol is neither x86_64-abi nor x86_32-abi");
        }
        boolean persistent =
                options.persistent() && frontend.number("feature-persistent", 1).orElse(0) == 1;
        int count = 1;
        if (frontend.read("multi-queue-num-queues").isPresent()) {
            count = frontend.number("multi-queue-num-queues", MAX_QUEUES).orElse(0);
            if (count < 1 || count > options.queues()) {
                return Optional.of("multi-queue-num-queues is outside 1.." + options.queues());
            }
        }
        List<DiskQueue> made = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String prefix = count == 1 ? "" : "queue-" + i + "/";
            Optional<String> problem = connectQueue(a, frontend, prefix, abi.get(), persistent, made);
            if (problem.isPresent()) {
                made.forEach(queue -> a.loop.execute(() -> queue.stop(() -> {})));
                return problem;
            }
        }
        queues = List.copyOf(made);
        // Requests may have been written before we were there.
        made.forEach(DiskQueue::look);
        return Optional.empty();
    }

    private Optional<String> connectQueue(
            Attached a,
            Backend.Frontend frontend,
            String prefix,
            BlkifAbi abi,
            boolean persistent,
            List<DiskQueue> made) {
        Optional<Integer> order = frontend.read("ring-page-order").isEmpty()
                ? Optional.of(-1)
                : frontend.number("ring-page-order", options.maxRingPageOrder());
        Optional<Integer> port = frontend.number(prefix + "event-channel", EventChannels.PORTS - 1);
        if (order.isEmpty() || port.isEmpty()) {
            return Optional.of(
                    order.isEmpty()
                            ? "ring-page-order is outside 0.." + options.maxRingPageOrder()
                            : prefix + "event-channel is missing or no port");
        }
        int pages = order.get() < 0 ? 1 : 1 << order.get();
        int[] references = new int[pages];
        MemorySegment[] memory = new MemorySegment[pages];
        GrantTable grants = a.domain.grants();
        for (int i = 0; i < pages; i++) {
            String name = prefix + (order.get() < 0 ? "ring-ref" : "ring-ref" + i);
            Optional<MemorySegment> page = Optional.empty();
            Optional<Integer> reference = frontend.number(name, Integer.MAX_VALUE);
            long frame = reference.isEmpty() ? -1 : grants.claim(reference.get(), true);
            if (frame >= 0) {
                page = page(a, frame);
                references[i] = reference.get();
            }
            if (page.isEmpty()) {
                for (int j = 0; j <= i; j++) {
                    if (references[j] != 0) {
                        grants.release(references[j]);
                    }
                }
                return Optional.of(name + " is missing or grants no page");
            }
            memory[i] = page.get();
        }
        DiskQueue queue = new DiskQueue(
                new DiskQueue.Parts(
                        abi,
                        new SharedRing(memory, abi.entryBytes),
                        references,
                        persistent,
                        a.domain.memory(),
                        grants,
                        a.drive.openQueue(a.loop),
                        a.loop,
                        a.limits,
                        a.stats,
                        a.backend::fault),
                id + "." + made.size());
        made.add(queue);
        Optional<EventChannel> channel = a.domain.events().bind(port.get(), queue::notified);
        if (channel.isEmpty()) {
            return Optional.of(prefix + "event-channel " + port.get() + " does not wait for a backend");
        }
        queue.channel(channel.get());
        return Optional.empty();
    }

    private static Optional<MemorySegment> page(Attached a, long frame) {
        try {
            return Optional.of(a.domain.memory().slice(frame << Xen.PAGE_SHIFT, Xen.PAGE_SIZE));
        } catch (GuestFault e) {
            return Optional.empty();
        }
    }

    /** Forgets the frontend; when this returns nothing touches its memory. Not on a loop. */
    private void letGo() {
        Attached a = attached();
        List<List<DiskQueue>> all = new ArrayList<>();
        a.domain.loop().call(() -> {
            a.backend.forget();
            all.add(queues);
            queues = List.of();
        });
        all.forEach(list -> list.forEach(DiskQueue::stopAndWait));
    }

    private void begin() {
        Attached a = attached();
        a.domain.loop().call(a.backend::build);
    }

    @Override
    public void reset() {
        letGo();
        begin();
    }

    @Override
    public void pause() {
        queues.forEach(DiskQueue::pause);
    }

    @Override
    public void resume() {
        queues.forEach(DiskQueue::resume);
    }

    @Override
    public SavedState saveState() {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, id + ": a Xen domain cannot be saved");
    }

    @Override
    public void restoreState(SavedState state) {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, id + ": a Xen domain cannot be restored");
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        attached.ifPresent(a -> {
            map.put("drive", a.drive.describe());
            map.put("number", a.number);
            map.put("connection", a.backend.describe());
            List<DiskQueue> all = queues;
            for (int i = 0; i < all.size(); i++) {
                map.put("queue-" + i, all.get(i).describe());
            }
        });
        return map;
    }

    @Override
    public void close() {
        attached.ifPresent(a -> {
            letGo();
            a.domain.loop().call(a.backend::close);
        });
        attached = Optional.empty();
    }
}
