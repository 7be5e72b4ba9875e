package org.benchtop.block.filter;

import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.Option;

/** Options of {@code overlay}. */
public record OverlayOptions(
        @Option(doc = "The drive that is never written.", ref = Option.Ref.DRIVE)
        String drive,

        @Option(doc = "Where changes are kept until the machine is closed.", value = "memory")
        Store store,

        @Option(doc = "The folder of the temporary file with store: file; the system's unless given.")
        Optional<Path> folder) {

    /** Where changes are. */
    public enum Store {
        /** In the memory of the process. */
        MEMORY,
        /** In a temporary file, which has no name and is gone with the process. */
        FILE,
    }

    public OverlayOptions {
        if (store == Store.MEMORY && folder.isPresent()) {
            throw new IllegalArgumentException("folder needs store: file");
        }
    }
}
