package org.benchtop.xen.store;

import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A node, which never changes: a change makes new nodes up to the root, so a transaction's view is one reference.
 *
 * @param generation changes with the value, the permissions and the set of children, but not with what the children hold
 */
record StoreNode(byte[] value, List<Permission> permissions, SortedMap<String, StoreNode> children, long generation) {
    @Nullable
    StoreNode child(String name) {
        return children.get(name);
    }

    int owner() {
        return permissions.getFirst().domid();
    }

    boolean allows(int domid, boolean write) {
        if (domid == XenStore.PRIVILEGED || domid == owner()) {
            return true;
        }
        for (Permission permission : permissions.subList(1, permissions.size())) {
            if (permission.domid() == domid) {
                return write ? permission.writes() : permission.reads();
            }
        }
        Permission others = permissions.getFirst();
        return write ? others.writes() : others.reads();
    }

    /** The same with a child added, replaced, or (null) removed. */
    StoreNode with(String name, @Nullable StoreNode child, long newGeneration) {
        SortedMap<String, StoreNode> changed = new TreeMap<>(children);
        StoreNode old = child == null ? changed.remove(name) : changed.put(name, child);
        boolean sameSet = old != null && child != null;
        return new StoreNode(value, permissions, changed, sameSet ? generation : newGeneration);
    }

    /** How many nodes of an owner are at or below this one. */
    int owned(int domid) {
        int n = owner() == domid ? 1 : 0;
        for (StoreNode child : children.values()) {
            n += child.owned(domid);
        }
        return n;
    }

    int size() {
        int n = 1;
        for (StoreNode child : children.values()) {
            n += child.size();
        }
        return n;
    }
}
