package org.benchtop.notebook.display;

import java.io.IOException;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;

/** Whoever shows what cells display. Methods may be called from any thread. */
public interface FrontEnd {
    /** Shows something new under the calling thread's cell. */
    void show(DisplayData data);

    /** Replaces everything that was shown with the same display id. */
    void update(DisplayData data);

    /**
     * Removes what the calling thread's cell has shown.
     *
     * @param wait whether to wait for something new, which avoids flicker
     */
    void clear(boolean wait);

    /**
     * Asks the user for a line.
     *
     * @throws IOException if the front end allows no questions
     * @throws InterruptedException if the cell was interrupted meanwhile
     */
    String ask(String prompt, boolean password) throws IOException, InterruptedException;
}
