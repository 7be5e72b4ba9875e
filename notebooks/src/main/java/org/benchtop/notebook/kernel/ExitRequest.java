package org.benchtop.notebook.kernel;

/** What {@code System.exit} in a cell throws: it ends the cell, not the kernel. */
final class ExitRequest extends Error {
    private static final long serialVersionUID = 1L;

    ExitRequest(int code) {
        super("System.exit(" + code + ") ends the cell; the kernel goes on", null, false, true);
    }
}
