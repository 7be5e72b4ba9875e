package org.benchtop.notebook.display;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.function.Consumer;

/** A connection between objects of the kernel and of a front end (Messaging in Jupyter, "Custom messages"). Thread-safe. */
public final class Comm implements AutoCloseable {
    private final Comms comms;
    private final String id;
    private final String target;
    private volatile Consumer<JsonObject> onMessage = data -> {};
    private volatile Consumer<JsonObject> onClose = data -> {};

    Comm(Comms comms, String id, String target) {
        this.comms = comms;
        this.id = id;
        this.target = target;
    }

    /** Its unique id. */
    public String id() {
        return id;
    }

    /** The name of what it is connected to. */
    public String target() {
        return target;
    }

    /** Sets what is done with messages of the front end. */
    public void onMessage(Consumer<JsonObject> action) {
        onMessage = action;
    }

    /** Sets what is done when the front end closes it. */
    public void onClose(Consumer<JsonObject> action) {
        onClose = action;
    }

    /** Sends something to the front end. */
    public void send(JsonObject data) {
        send(data, List.of());
    }

    /** Sends something with raw data to the front end. */
    public void send(JsonObject data, List<byte[]> buffers) {
        comms.send(this, data, buffers);
    }

    void received(JsonObject data) {
        onMessage.accept(data);
    }

    void closed(JsonObject data) {
        onClose.accept(data);
    }

    /** Tells the front end that it is over. */
    @Override
    public void close() {
        comms.close(this);
    }
}
