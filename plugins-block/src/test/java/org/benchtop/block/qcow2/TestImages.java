package org.benchtop.block.qcow2;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;
import org.benchtop.spi.image.Image;
import org.benchtop.spi.image.ImageBacking;
import org.benchtop.spi.image.ImageCreation;
import org.benchtop.spi.image.ImageOpen;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeFile;
import org.benchtop.testkit.FakeHostServices;

/** Images on a fake host, so that tests see every operation and can lose what was not synced. */
final class TestImages {
    private final FakeHostServices host = new FakeHostServices();

    FakeHostServices host() {
        return host;
    }

    /** Makes an image and puts it on the fake host. */
    FakeFile create(String name, long sizeBytes, Map<String, String> options, Optional<ImageBacking> backing) {
        try {
            Path folder = Files.createTempDirectory("benchtop-qcow2");
            Path file = folder.resolve(name);
            new Qcow2Format().create(new ImageCreation(file, sizeBytes, backing, options), context());
            byte[] bytes = Files.readAllBytes(file);
            Files.delete(file);
            Files.delete(folder);
            FakeFile fake = host.file(path(name), 0);
            fake.poke(0, bytes);
            return fake;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    FakeFile create(String name, long sizeBytes, Map<String, String> options) {
        return create(name, sizeBytes, options, Optional.empty());
    }

    static Path path(String name) {
        return Path.of("/fake", name);
    }

    FakeCreateContext context() {
        return new FakeCreateContext("disk0").host(host);
    }

    static ImageOpen how(String name, boolean writable, CacheMode cache) {
        return ImageOpen.readOnly(path(name)).writable(writable).cache(cache).aio(HostFileOptions.Aio.AUTO, 1);
    }

    Image open(String name) {
        return open(how(name, true, CacheMode.WRITEBACK));
    }

    Image openReadOnly(String name) {
        return open(how(name, false, CacheMode.WRITEBACK));
    }

    Image open(ImageOpen how) {
        return new Qcow2Format().open(how, context());
    }

    /** Copies an image of the fake host to a real file, for other programs. */
    void export(String name, Path to) {
        FakeFile file = host.file(path(name));
        try {
            Files.write(to, file.bytes(0, (int) file.sizeBytes()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
