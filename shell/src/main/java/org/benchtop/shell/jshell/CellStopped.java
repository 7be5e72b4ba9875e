package org.benchtop.shell.jshell;

/** Unwinds a cell that its user has stopped. An {@link Error}, so that {@code catch (Exception e)} does not keep it. */
public final class CellStopped extends Error {
    private static final long serialVersionUID = 1L;

    CellStopped() {
        super("stopped by the user", null, false, false);
    }
}
