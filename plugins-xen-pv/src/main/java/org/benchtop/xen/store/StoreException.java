package org.benchtop.xen.store;

/** A refused request. Checked: it becomes an answer. Carries no stack trace, as a guest can cause any number. */
public final class StoreException extends Exception {
    private static final long serialVersionUID = 1L;

    private final StoreError error;

    StoreException(StoreError error) {
        super(error.name(), null, false, false);
        this.error = error;
    }

    /** Why. */
    public StoreError error() {
        return error;
    }
}
