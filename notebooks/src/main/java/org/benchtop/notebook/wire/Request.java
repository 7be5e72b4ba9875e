package org.benchtop.notebook.wire;

/** A message of a front end and the way back to it. */
public final class Request {
    private final Message message;
    private final SocketThread channel;

    Request(Message message, SocketThread channel) {
        this.message = message;
        this.channel = channel;
    }

    /** What was asked. */
    public Message message() {
        return message;
    }

    SocketThread channel() {
        return channel;
    }
}
