package org.benchtop.notebook.render;

import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.benchtop.notebook.display.Jupyter;
import org.benchtop.shell.lab.VmWatch;
import org.benchtop.spi.BenchtopException;

/** Shows a machine under a cell and keeps it up to date until the machine has stopped. */
public final class LiveView implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");
    private static final Set<LiveView> OPEN = ConcurrentHashMap.newKeySet();

    private final VmWatch watch;
    private final String display;
    private final Thread thread;

    private LiveView(VmWatch watch) {
        this.watch = watch;
        this.display = Jupyter.display(watch.frame());
        // Belongs to the cell that starts it, so its updates are the cell's.
        this.thread =
                Thread.ofPlatform().daemon().name("watch-" + watch.vm().name()).unstarted(this::run);
    }

    /** Begins to show a machine; the cell does not wait. */
    public static LiveView start(VmWatch watch) {
        LiveView view = new LiveView(watch);
        OPEN.add(view);
        view.thread.start();
        return view;
    }

    private void run() {
        try {
            watch.run(frame -> Jupyter.updateDisplay(display, frame));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (BenchtopException e) {
            LOG.log(Level.DEBUG, "watch of {0}: {1}", watch.vm().name(), e.getMessage());
        } finally {
            OPEN.remove(this);
        }
    }

    /** How many machines are being watched. */
    public static int open() {
        return OPEN.size();
    }

    /** Shows no more. */
    @Override
    public void close() {
        thread.interrupt();
    }

    /** Ends all live views. */
    public static void closeAll() {
        OPEN.forEach(LiveView::close);
    }
}
