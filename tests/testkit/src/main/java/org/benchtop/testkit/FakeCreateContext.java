package org.benchtop.testkit;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockContext;
import org.benchtop.spi.chardev.ChardevContext;
import org.benchtop.spi.host.HostServices;

/** What factory methods of block and character backends are given. */
public final class FakeCreateContext implements BlockContext, ChardevContext {
    private final String id;
    private final FakeStats stats = new FakeStats();
    private final Map<String, BlockBackend> drives = new LinkedHashMap<>();
    private final FakeEventLoop eventLoop;
    private HostServices host = new FakeHostServices();
    private Path folder = Path.of("/fake");
    private int stopRequests;
    private int resumeRequests;

    public FakeCreateContext(String id) {
        this(id, new FakeEventLoop());
    }

    public FakeCreateContext(String id, FakeEventLoop eventLoop) {
        this.id = id;
        this.eventLoop = eventLoop;
    }

    /** Uses another host, such as the engine's own. */
    public FakeCreateContext host(HostServices newHost) {
        host = newHost;
        return this;
    }

    /** Sets the folder of the imaginary YAML file; {@code /fake} unless changed. */
    public FakeCreateContext folder(Path newFolder) {
        folder = newFolder;
        return this;
    }

    /** Adds an entry of {@code drives:}. */
    public FakeCreateContext drive(String name, BlockBackend backend) {
        drives.put(name, backend);
        return this;
    }

    @Override
    public BlockBackend drive(String name) {
        BlockBackend backend = drives.remove(name);
        if (backend == null) {
            throw BenchtopException.config("no unused drive \"" + name + "\"; there are " + drives.keySet());
        }
        return backend;
    }

    @Override
    public FakeClock clock() {
        return eventLoop.clock();
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Path resolve(Path path) {
        return folder.resolve(path);
    }

    @Override
    public FakeStats stats() {
        return stats;
    }

    @Override
    public System.Logger logger() {
        return System.getLogger("benchtop.test." + id);
    }

    @Override
    public HostServices host() {
        return host;
    }

    @Override
    public FakeEventLoop eventLoop() {
        return eventLoop;
    }

    @Override
    public void requestStop() {
        stopRequests++;
    }

    @Override
    public void requestResume() {
        resumeRequests++;
    }

    /** How often {@link #requestResume} was called. */
    public int resumeRequests() {
        return resumeRequests;
    }

    /** How often {@link #requestStop} was called. */
    public int stopRequests() {
        return stopRequests;
    }
}
