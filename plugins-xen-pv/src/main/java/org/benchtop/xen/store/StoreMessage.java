package org.benchtop.xen.store;

/** Types of messages (xs_wire.h); the header is type, request, transaction and payload length, four bytes each. */
final class StoreMessage {
    static final int HEADER = 16;
    static final int MAX_PAYLOAD = 4096;

    static final int CONTROL = 0;
    static final int DIRECTORY = 1;
    static final int READ = 2;
    static final int GET_PERMS = 3;
    static final int WATCH = 4;
    static final int UNWATCH = 5;
    static final int TRANSACTION_START = 6;
    static final int TRANSACTION_END = 7;
    static final int INTRODUCE = 8;
    static final int RELEASE = 9;
    static final int GET_DOMAIN_PATH = 10;
    static final int WRITE = 11;
    static final int MKDIR = 12;
    static final int RM = 13;
    static final int SET_PERMS = 14;
    static final int WATCH_EVENT = 15;
    static final int ERROR = 16;
    static final int IS_DOMAIN_INTRODUCED = 17;
    static final int RESET_WATCHES = 21;
    static final int DIRECTORY_PART = 22;

    private StoreMessage() {}
}
