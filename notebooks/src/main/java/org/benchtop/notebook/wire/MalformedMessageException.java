package org.benchtop.notebook.wire;

/** Bytes that are no message, or not one of whoever knows the key. */
public final class MalformedMessageException extends Exception {
    private static final long serialVersionUID = 1L;

    MalformedMessageException(String message) {
        super(message, null, false, false);
    }
}
