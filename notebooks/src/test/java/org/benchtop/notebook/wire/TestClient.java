package org.benchtop.notebook.wire;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** A front end for tests. Not thread-safe. */
public final class TestClient implements AutoCloseable {
    private static final int TIMEOUT_MILLIS = 60_000;

    private final ZContext context = new ZContext();
    private final MessageCodec codec;
    private final ZMQ.Socket shell;
    private final ZMQ.Socket control;
    private final ZMQ.Socket stdin;
    private final ZMQ.Socket iopub;
    private final ZMQ.Socket heartbeat;
    private final List<Message> published = new ArrayList<>();

    /** Connects; when it returns, nothing that is broadcast is missed. */
    public TestClient(ConnectionFile file) {
        codec = new MessageCodec(file.signatureScheme(), file.key());
        byte[] identity = UUID.randomUUID().toString().getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        iopub = socket(SocketType.SUB, file.address(file.iopubPort()), identity);
        iopub.subscribe(new byte[0]);
        shell = socket(SocketType.DEALER, file.address(file.shellPort()), identity);
        control = socket(SocketType.DEALER, file.address(file.controlPort()), identity);
        stdin = socket(SocketType.DEALER, file.address(file.stdinPort()), identity);
        heartbeat = socket(SocketType.REQ, file.address(file.heartbeatPort()), identity);
    }

    private ZMQ.Socket socket(SocketType type, String address, byte[] identity) {
        ZMQ.Socket socket = context.createSocket(type);
        if (type == SocketType.DEALER) {
            socket.setIdentity(identity);
        }
        socket.setLinger(0);
        socket.setRcvHWM(0);
        socket.setReceiveTimeOut(TIMEOUT_MILLIS);
        socket.connect(address);
        return socket;
    }

    /** A reply and what was broadcast until the kernel was idle again. */
    public record Exchange(Message reply, List<Message> published) {
        /** The text of a stream. */
        public String text(String stream) {
            StringBuilder text = new StringBuilder();
            for (Message message : published) {
                if (message.type().equals("stream")
                        && Json.string(message.content(), "name").orElse("").equals(stream)) {
                    text.append(Json.string(message.content(), "text").orElse(""));
                }
            }
            return text.toString();
        }

        /** The first broadcast of a type. */
        public Optional<Message> first(String type) {
            return published.stream()
                    .filter(message -> message.type().equals(type))
                    .findFirst();
        }

        /** The result's plain text. */
        public String result() {
            return first("execute_result")
                    .flatMap(message -> Json.string(Json.member(message.content(), "data"), "text/plain"))
                    .orElse("");
        }

        /** {@code ok}, {@code error} or {@code aborted}. */
        public String status() {
            return Json.string(reply.content(), "status").orElse("");
        }

        /** The traceback without colours. */
        public String traceback() {
            StringBuilder text = new StringBuilder();
            reply.content()
                    .getAsJsonArray("traceback")
                    .forEach(line -> text.append(line.getAsString()).append('\n'));
            return text.toString().replaceAll("\u001b\\[[0-9;]*m", "");
        }
    }

    /** Sends raw frames to the shell channel. */
    public void sendRaw(List<byte[]> frames) {
        send(shell, frames);
    }

    private static void send(ZMQ.Socket socket, List<byte[]> frames) {
        for (int i = 0; i < frames.size(); i++) {
            socket.send(frames.get(i), i < frames.size() - 1 ? ZMQ.SNDMORE : 0);
        }
    }

    private Message post(ZMQ.Socket socket, String type, JsonObject content, JsonObject parent) {
        List<byte[]> frames = codec.encode(List.of(), type, parent, new JsonObject(), content, List.of());
        send(socket, frames);
        return decode(frames);
    }

    private Message decode(List<byte[]> frames) {
        try {
            return new MessageCodec("hmac-sha256", "").decode(frames);
        } catch (MalformedMessageException e) {
            throw new AssertionError(e);
        }
    }

    /** Sends a request on the shell channel; returns its id. */
    public String send(String type, JsonObject content) {
        return post(shell, type, content, new JsonObject()).id();
    }

    /** Sends a cell; returns its id. */
    public String sendCell(String code) {
        return send("execute_request", cell(code));
    }

    /** An ordinary cell. */
    public static JsonObject cell(String code) {
        return Json.object(
                "code", code,
                "silent", false,
                "store_history", true,
                "user_expressions", new JsonObject(),
                "allow_stdin", true,
                "stop_on_error", true);
    }

    /** Runs a cell. */
    public Exchange execute(String code) {
        return await(sendCell(code));
    }

    /** Sends a request on the shell channel and waits for its end. */
    public Exchange request(String type, JsonObject content) {
        return await(send(type, content));
    }

    /** Sends a request on the control channel and waits for the reply. */
    public Message control(String type, JsonObject content) {
        post(control, type, content, new JsonObject());
        return receive(control);
    }

    /** Waits for the reply to a request and for the kernel to be idle again. */
    public Exchange await(String id) {
        Message reply = receive(shell);
        while (!parent(reply).equals(id)) {
            reply = receive(shell);
        }
        awaitPublished(message -> parent(message).equals(id)
                && message.type().equals("status")
                && Json.string(message.content(), "execution_state").orElse("").equals("idle"));
        return new Exchange(
                reply,
                published.stream().filter(message -> parent(message).equals(id)).toList());
    }

    /** Waits for a broadcast. */
    public Message awaitPublished(Predicate<Message> wanted) {
        int from = 0;
        while (true) {
            for (; from < published.size(); from++) {
                if (wanted.test(published.get(from))) {
                    return published.get(from);
                }
            }
            published.add(receive(iopub));
        }
    }

    /** Everything of a type that was broadcast and received so far. */
    public List<Message> published(String type) {
        return published.stream().filter(message -> message.type().equals(type)).toList();
    }

    /** The id of the request that a message belongs to. */
    public static String parent(Message message) {
        return Json.string(message.parentHeader(), "msg_id").orElse("");
    }

    /** Waits for a question to the user. */
    public Message question() {
        return receive(stdin);
    }

    /** Answers a question. */
    public void answer(Message question, String value) {
        post(stdin, "input_reply", Json.object("value", value), question.header());
    }

    /** Waits for a cell's question and answers it; questions of earlier cells stay unanswered. */
    public Message answer(String cell, String value) {
        Message question = question();
        while (!parent(question).equals(cell)) {
            question = question();
        }
        answer(question, value);
        return question;
    }

    /** Sends bytes to the heartbeat; returns what comes back. */
    public byte[] beat(byte[] bytes) {
        heartbeat.send(bytes);
        byte @Nullable [] echo = heartbeat.recv();
        return echo == null ? new byte[0] : echo;
    }

    private Message receive(ZMQ.Socket socket) {
        List<byte[]> frames = new ArrayList<>();
        do {
            byte @Nullable [] frame = socket.recv();
            if (frame == null) {
                throw new AssertionError("nothing was received in " + TIMEOUT_MILLIS + " ms; last broadcasts: "
                        + published.subList(Math.max(0, published.size() - 10), published.size()));
            }
            frames.add(frame);
        } while (socket.hasReceiveMore());
        try {
            return codec.decode(frames);
        } catch (MalformedMessageException e) {
            throw new AssertionError("the kernel sent something malformed: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        context.close();
    }
}
