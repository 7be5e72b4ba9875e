package org.benchtop.notebook.display;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.benchtop.notebook.wire.Json;

/** All open comms, and what front ends may open. Thread-safe. */
public final class Comms {
    /** Broadcasts comm messages. */
    public interface Sender {
        /** Broadcasts one. */
        void send(String type, JsonObject content, JsonObject metadata, List<byte[]> buffers);
    }

    private final Sender sender;
    private final Map<String, Consumer<Comm>> targets = new ConcurrentHashMap<>();
    private final Map<String, Comm> open = new ConcurrentHashMap<>();

    /** Uses a sender. */
    public Comms(Sender sender) {
        this.sender = sender;
    }

    /** Lets front ends open comms to a target; the action gets every new one. */
    public void target(String name, Consumer<Comm> onOpen) {
        targets.put(name, onOpen);
    }

    /** Opens a comm to a target of the front end. */
    public Comm open(String target, JsonObject data) {
        Comm comm = new Comm(this, UUID.randomUUID().toString(), target);
        open.put(comm.id(), comm);
        sender.send(
                "comm_open",
                Json.object("comm_id", comm.id(), "target_name", target, "data", data),
                new JsonObject(),
                List.of());
        return comm;
    }

    void send(Comm comm, JsonObject data, List<byte[]> buffers) {
        sender.send("comm_msg", Json.object("comm_id", comm.id(), "data", data), new JsonObject(), buffers);
    }

    void close(Comm comm) {
        if (open.remove(comm.id()) != null) {
            sendClose(comm.id());
        }
    }

    private void sendClose(String id) {
        sender.send("comm_close", Json.object("comm_id", id, "data", new JsonObject()), new JsonObject(), List.of());
    }

    /** A front end opens a comm; without such a target it is closed at once, as the protocol asks. */
    public void opened(JsonObject content) {
        String id = Json.string(content, "comm_id").orElse("");
        String target = Json.string(content, "target_name").orElse("");
        Optional<Consumer<Comm>> action = Optional.ofNullable(targets.get(target));
        if (action.isEmpty() || id.isEmpty()) {
            sendClose(id);
            return;
        }
        Comm comm = new Comm(this, id, target);
        open.put(id, comm);
        action.get().accept(comm);
    }

    /** A front end sends something. */
    public void received(JsonObject content) {
        Optional.ofNullable(open.get(Json.string(content, "comm_id").orElse("")))
                .ifPresent(comm -> comm.received(Json.member(content, "data")));
    }

    /** A front end closes a comm. */
    public void closed(JsonObject content) {
        Optional.ofNullable(open.remove(Json.string(content, "comm_id").orElse("")))
                .ifPresent(comm -> comm.closed(Json.member(content, "data")));
    }

    /** Answers a {@code comm_info_request}: the open comms, of one target or of all. */
    public JsonObject info(String target) {
        JsonObject all = new JsonObject();
        open.values().stream()
                .filter(comm -> target.isEmpty() || comm.target().equals(target))
                .forEach(comm -> all.add(comm.id(), Json.object("target_name", comm.target())));
        return Json.object("status", "ok", "comms", all);
    }
}
