package org.benchtop.engine.linux;

/** What a loop calls when a registered descriptor is ready. */
@FunctionalInterface
interface LoopSource {
    /** Runs on the loop's thread with the EPOLL* bits. */
    void ready(int events);

    /** A descriptor in a loop's epoll set. Any thread. */
    interface Registration {
        /** Changes the EPOLL* bits to wait for. */
        void events(int events);

        /** Takes the descriptor out of the set; call it before the descriptor is closed. No later event is reported. */
        void close();
    }
}
