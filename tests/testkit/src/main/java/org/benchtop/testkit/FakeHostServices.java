package org.benchtop.testkit;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.host.HostFile;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.host.HostServices;
import org.benchtop.spi.host.HostStream;

/** A host with files in memory only: see {@link FakeFile} for what a test can do with them. */
public final class FakeHostServices implements HostServices {
    private final Map<Path, FakeFile> files = new LinkedHashMap<>();
    private final Map<String, HostStream> streams = new LinkedHashMap<>();

    /** Makes a file of zeroes, or gives the one that exists. */
    public synchronized FakeFile file(Path path, long sizeBytes) {
        return files.computeIfAbsent(path, key -> new FakeFile(path, sizeBytes));
    }

    /** A file that exists; fails the test if it does not. */
    public synchronized FakeFile file(Path path) {
        FakeFile file = files.get(path);
        if (file == null) {
            throw new AssertionError("no file " + path + " on the fake host; there are " + files.keySet());
        }
        return file;
    }

    /** Whether a file exists. */
    public synchronized boolean exists(Path path) {
        return files.containsKey(path);
    }

    /** Sets what {@link #stdio}, {@link #openPty} and {@link #openTap} give: {@code stdio}, {@code pty}, {@code tap}. */
    public synchronized FakeHostServices stream(String kind, HostStream stream) {
        streams.put(kind, stream);
        return this;
    }

    @Override
    public synchronized HostFile openFile(HostFileOptions options) {
        FakeFile file = files.get(options.path());
        boolean created = false;
        if (file == null) {
            if (!options.create()) {
                throw BenchtopException.host("cannot open " + options.path() + ": no such file");
            }
            file = new FakeFile(options.path(), 0);
            files.put(options.path(), file);
            created = true;
        }
        try {
            return file.open(options);
        } catch (BenchtopException e) {
            if (created) {
                files.remove(options.path());
            }
            throw e;
        }
    }

    @Override
    public HostStream stdio(boolean raw) {
        return stream("stdio");
    }

    @Override
    public HostStream openPty() {
        return stream("pty");
    }

    @Override
    public HostStream openTap(String interfaceName, boolean vnetHeader) {
        return stream("tap");
    }

    private synchronized HostStream stream(String kind) {
        HostStream stream = streams.get(kind);
        if (stream == null) {
            throw BenchtopException.host("the fake host has no " + kind);
        }
        return stream;
    }
}
