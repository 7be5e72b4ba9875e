package org.benchtop.notebook.wire;

import com.google.gson.JsonObject;
import java.util.List;

/**
 * A message (Messaging in Jupyter 5.4, "General message format").
 *
 * @param identities ZeroMQ routing identities of whoever sent it
 * @param header who, what and when
 * @param parentHeader the header of what it answers; empty for a request
 * @param metadata not interpreted
 * @param content depends on the type
 * @param buffers raw data, for comms
 */
public record Message(
        List<byte[]> identities,
        JsonObject header,
        JsonObject parentHeader,
        JsonObject metadata,
        JsonObject content,
        List<byte[]> buffers) {
    public Message {
        identities = List.copyOf(identities);
        buffers = List.copyOf(buffers);
    }

    /** Its type, such as {@code execute_request}. */
    public String type() {
        return Json.string(header, "msg_type").orElse("");
    }

    /** Its unique id. */
    public String id() {
        return Json.string(header, "msg_id").orElse("");
    }

    @Override
    public String toString() {
        return type() + " " + id();
    }
}
