package org.benchtop.notebook.kernel;

import java.util.List;
import java.util.Map;

/** What cells find when they start. */
public interface Environment extends AutoCloseable {
    /** The version of the kernel. */
    String version();

    /** What consoles show first. */
    String banner();

    /** Addresses of documentation, by title. */
    Map<String, String> helpLinks();

    /** Imports and declarations that every notebook has, one on each line. */
    String startup();

    /** The magics besides those of the kernel itself. */
    List<Magic> magics();

    /**
     * Called on the cells' thread when the first cell could run.
     *
     * @param cells the loader of cells' classes
     */
    void ready(ClassLoader cells);

    /**
     * Shows a value that keeps itself up to date, such as a watch of a machine.
     *
     * @return false if it is no such value
     */
    boolean showLive(Object value);

    /** Releases what cells have made: machines, threads, files. */
    @Override
    void close();
}
