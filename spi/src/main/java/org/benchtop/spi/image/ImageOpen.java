package org.benchtop.spi.image;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.block.CacheMode;
import org.benchtop.spi.host.HostFileOptions;

/**
 * How to open an image.
 *
 * @param file the image's file
 * @param writable opens for writing too
 * @param cache what is promised about durability
 * @param aio how requests are executed
 * @param threads the number of threads for {@code aio: threads}
 * @param lock refuses a file that somebody else has opened in a conflicting mode
 * @param unmap gives space back to the host that is not needed any more
 * @param backing opens the images below as well; without, what they would give reads as zeroes
 * @param backingFormat the format of the image below where the header does not name it
 * @param flawed opens an image that is marked corrupt or dirty as it is, for checking
 * @param compress stores whole clusters compressed when they are written
 */
public record ImageOpen(
        Path file,
        boolean writable,
        CacheMode cache,
        HostFileOptions.Aio aio,
        int threads,
        boolean lock,
        boolean unmap,
        boolean backing,
        Optional<String> backingFormat,
        boolean flawed,
        boolean compress) {

    /** Read-only, with everything below it. */
    public static ImageOpen readOnly(Path file) {
        return new ImageOpen(
                file,
                false,
                CacheMode.WRITEBACK,
                HostFileOptions.Aio.AUTO,
                4,
                true,
                true,
                true,
                Optional.empty(),
                false,
                false);
    }

    /** The same for another file. */
    public ImageOpen file(Path newFile) {
        return new ImageOpen(
                newFile, writable, cache, aio, threads, lock, unmap, backing, backingFormat, flawed, compress);
    }

    /** The same, writable or not. */
    public ImageOpen writable(boolean value) {
        return new ImageOpen(file, value, cache, aio, threads, lock, unmap, backing, backingFormat, flawed, compress);
    }

    /** The same with another cache mode. */
    public ImageOpen cache(CacheMode value) {
        return new ImageOpen(
                file, writable, value, aio, threads, lock, unmap, backing, backingFormat, flawed, compress);
    }

    /** The same with another way to execute requests. */
    public ImageOpen aio(HostFileOptions.Aio value, int newThreads) {
        return new ImageOpen(
                file, writable, cache, value, newThreads, lock, unmap, backing, backingFormat, flawed, compress);
    }

    /** The same with or without locks. */
    public ImageOpen lock(boolean value) {
        return new ImageOpen(
                file, writable, cache, aio, threads, value, unmap, backing, backingFormat, flawed, compress);
    }

    /** The same with or without giving back space. */
    public ImageOpen unmap(boolean value) {
        return new ImageOpen(
                file, writable, cache, aio, threads, lock, value, backing, backingFormat, flawed, compress);
    }

    /** The same with or without what is below. */
    public ImageOpen backing(boolean value) {
        return new ImageOpen(file, writable, cache, aio, threads, lock, unmap, value, backingFormat, flawed, compress);
    }

    /** The same with a format for the image below. */
    public ImageOpen backingFormat(Optional<String> value) {
        return new ImageOpen(file, writable, cache, aio, threads, lock, unmap, backing, value, flawed, compress);
    }

    /** The same, taking flawed images or not. */
    public ImageOpen flawed(boolean value) {
        return new ImageOpen(file, writable, cache, aio, threads, lock, unmap, backing, backingFormat, value, compress);
    }

    /** The same, compressing or not. */
    public ImageOpen compress(boolean value) {
        return new ImageOpen(file, writable, cache, aio, threads, lock, unmap, backing, backingFormat, flawed, value);
    }
}
