package org.benchtop.xen.store;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A domain's own view of the tree, with what it has looked at and what it has changed. */
final class StoreTransaction {
    /** Changed paths and looked-at paths at most. */
    static final int MAX_PATHS = 1024;

    final StoreNode base;
    StoreNode root;
    /** The generation of each path that was looked at or changed, as it was at the start; -1 where none was. */
    final Map<String, Long> seen = new LinkedHashMap<>();
    /** What was changed, in order, for commits onto a tree that has changed elsewhere. */
    final List<Change> changes = new ArrayList<>();

    /** One change: makes a new tree. */
    @FunctionalInterface
    interface Change {
        /** Applies it. */
        StoreNode apply(StoreNode root) throws StoreException;
    }

    /** Paths to report when the transaction commits. */
    final List<Changed> changed = new ArrayList<>();

    /** A path that has changed, and whether it and what was below is gone. */
    record Changed(String path, List<String> removed, StoreNode nearest) {}

    StoreTransaction(StoreNode base) {
        this.base = base;
        this.root = base;
    }
}
