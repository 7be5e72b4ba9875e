package org.benchtop.xen;

/** Connection states of both ends of a paravirtual device (xenbus.h). */
enum XenbusState {
    /** Not there. */
    UNKNOWN,
    /** The end has just been made. */
    INITIALISING,
    /** The backend waits for the frontend's details. */
    INIT_WAIT,
    /** The frontend has given its details. */
    INITIALISED,
    /** Both work. */
    CONNECTED,
    /** The end is about to go. */
    CLOSING,
    /** The end is gone. */
    CLOSED;

    /** As written in xenstore. */
    String text() {
        return Integer.toString(ordinal());
    }

    /** What a node says; anything that makes no sense is {@link #UNKNOWN}. */
    static XenbusState parse(String text) {
        return text.length() == 1 && text.charAt(0) >= '0' && text.charAt(0) <= '6'
                ? values()[text.charAt(0) - '0']
                : UNKNOWN;
    }
}
