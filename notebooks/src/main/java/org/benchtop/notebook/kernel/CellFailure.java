package org.benchtop.notebook.kernel;

import java.util.List;

/** A cell that did not succeed, told for people. */
final class CellFailure extends Exception {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final transient List<String> traceback;

    /**
     * A failure.
     *
     * @param name what kind it is, such as the simple name of an exception
     * @param value one line
     * @param traceback lines with terminal colours
     */
    CellFailure(String name, String value, List<String> traceback) {
        super(value, null, false, false);
        this.name = name;
        this.traceback = List.copyOf(traceback);
    }

    String name() {
        return name;
    }

    String value() {
        return String.valueOf(getMessage());
    }

    List<String> traceback() {
        return traceback;
    }
}
