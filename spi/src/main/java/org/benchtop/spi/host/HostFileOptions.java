package org.benchtop.spi.host;

import java.nio.file.Path;
import org.benchtop.spi.Option;

/**
 * How to open a file.
 *
 * @param path the file
 * @param writable opens for writing too
 * @param create creates the file if it does not exist; needs {@code writable}
 * @param direct O_DIRECT: the page cache is bypassed, buffers and offsets must be aligned
 * @param dataSync O_DSYNC: every write is durable when it completes
 * @param lock refuses the file when another process or machine has it in a conflicting mode
 * @param aio how requests are executed
 * @param threads the number of threads for {@link Aio#THREADS}, 1 to 256
 */
public record HostFileOptions(
        Path path,
        boolean writable,
        boolean create,
        boolean direct,
        boolean dataSync,
        Lock lock,
        Aio aio,
        int threads) {

    /** Open-file-description locks on the whole file, compatible between processes and within one. */
    public enum Lock {
        /** No lock. */
        NONE,
        /** Many readers. */
        SHARED,
        /** One user. */
        EXCLUSIVE,
    }

    /** How requests are executed. */
    public enum Aio {
        /** The best that is usable here. */
        AUTO,
        /** Positioned reads and writes on platform threads. */
        THREADS,
        /** Linux native AIO. */
        NATIVE,
        /** io_uring. */
        @Option(name = "io_uring")
        IO_URING,
    }
}
