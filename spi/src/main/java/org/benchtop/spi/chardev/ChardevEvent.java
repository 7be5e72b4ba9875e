package org.benchtop.spi.chardev;

/** What can happen on a line besides data. */
public enum ChardevEvent {
    /** The other side is there. */
    OPENED,
    /** The other side is gone. */
    CLOSED,
    /** A break condition. */
    BREAK,
}
