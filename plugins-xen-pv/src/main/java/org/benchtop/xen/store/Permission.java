package org.benchtop.xen.store;

import java.util.Optional;

/**
 * Who may do what with a node: the first of a node's list names its owner and what everybody else may do.
 *
 * @param access {@code n}one, {@code r}ead, {@code w}rite or {@code b}oth
 */
public record Permission(char access, int domid) {
    boolean reads() {
        return access == 'r' || access == 'b';
    }

    boolean writes() {
        return access == 'w' || access == 'b';
    }

    /** As on the wire, such as {@code r0}. */
    @Override
    public String toString() {
        return access + Integer.toString(domid);
    }

    /** The opposite of {@link #toString}. */
    static Optional<Permission> parse(String text) {
        if (text.length() < 2 || text.length() > 6 || "nrwb".indexOf(text.charAt(0)) < 0) {
            return Optional.empty();
        }
        for (int i = 1; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return Optional.empty();
            }
        }
        int domid = Integer.parseInt(text.substring(1));
        return domid > 0x7fff ? Optional.empty() : Optional.of(new Permission(text.charAt(0), domid));
    }
}
