package org.benchtop.spi.guest;

import java.nio.file.Path;

/** What a boot source gets from the engine. */
public interface BootSourceContext {
    /** Resolves a path against the folder of the YAML file. */
    Path resolve(Path path);

    /** Tells the user what takes long, in a few words. */
    void progress(String what);
}
