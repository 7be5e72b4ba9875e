package org.benchtop.xen.store;

/**
 * Somebody who wants to hear of changes at or below a path.
 *
 * @param domid whose watch it is
 * @param path absolute, or a special name that begins with {@code @}
 * @param asGiven the path as it was given, which events use
 * @param token what events carry
 * @param listener hears of changes; called with the store's lock held, so it only notes them
 */
record StoreWatch(int domid, String path, String asGiven, String token, Listener listener) {
    /** Told of changes. */
    @FunctionalInterface
    interface Listener {
        /** Something at or below the watched path has changed. */
        void changed(String path, String token);
    }

    /** The changed path as the owner of the watch names it. */
    String report(String changed) {
        return StorePath.relative(asGiven) ? asGiven + changed.substring(path.length()) : changed;
    }
}
