package org.benchtop.notebook.wire;

import com.google.gson.JsonObject;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.zeromq.SocketType;
import org.zeromq.ZContext;

/**
 * The kernel's side of the five channels: shell and control (requests and replies), iopub (broadcasts), stdin (questions
 * to the user) and heartbeat. Every method may be called from any thread.
 */
public final class Channels implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");
    private static final byte SUBSCRIBE = 1;
    private static final long MAX_QUEUED_BYTES = 16L << 20;
    private static final int LOGGED_REFUSALS = 20;

    private final ZContext context = new ZContext(1);
    private final MessageCodec codec;
    private final SocketThread shell;
    private final SocketThread control;
    private final SocketThread iopub;
    private final SocketThread stdin;
    private final SocketThread heartbeat;
    private final BlockingQueue<Message> answers = new LinkedBlockingQueue<>();
    private final AtomicLong refused = new AtomicLong();
    private final ConnectionFile bound;
    private volatile Consumer<Request> onShell = request -> {};
    private volatile Consumer<Request> onControl = request -> {};

    /**
     * Binds all channels.
     *
     * @throws org.benchtop.spi.BenchtopException of kind HOST if a port is taken
     */
    public Channels(ConnectionFile file) {
        codec = new MessageCodec(file.signatureScheme(), file.key());
        try {
            iopub = socket("iopub", SocketType.XPUB, file.address(file.iopubPort()), this::subscription);
            stdin = socket("stdin", SocketType.ROUTER, file.address(file.stdinPort()), this::answer);
            heartbeat = socket("heartbeat", SocketType.REP, file.address(file.heartbeatPort()), this::echo);
            control = socket("control", SocketType.ROUTER, file.address(file.controlPort()), this::controlRequest);
            shell = socket("shell", SocketType.ROUTER, file.address(file.shellPort()), this::shellRequest);
        } catch (RuntimeException e) {
            context.close();
            throw e;
        }
        bound = new ConnectionFile(
                file.transport(),
                file.ip(),
                shell.port(),
                control.port(),
                iopub.port(),
                stdin.port(),
                heartbeat.port(),
                file.signatureScheme(),
                file.key());
    }

    private SocketThread socket(String name, SocketType type, String address, SocketThread.Receiver receiver) {
        return new SocketThread(context, name, type, address, receiver);
    }

    /** Where the channels are bound, which differs from what was asked where a port was 0. */
    public ConnectionFile bound() {
        return bound;
    }

    /**
     * Begins to receive.
     *
     * @param shellRequests takes requests on the shell channel's thread; must not block
     * @param controlRequests takes requests on the control channel's thread; must not block
     */
    public void start(Consumer<Request> shellRequests, Consumer<Request> controlRequests) {
        onShell = shellRequests;
        onControl = controlRequests;
        List.of(heartbeat, iopub, stdin, control, shell).forEach(SocketThread::start);
    }

    private void shellRequest(List<byte[]> frames) {
        request(shell, "shell", frames, onShell);
    }

    private void controlRequest(List<byte[]> frames) {
        request(control, "control", frames, onControl);
    }

    private void request(SocketThread channel, String name, List<byte[]> frames, Consumer<Request> consumer) {
        try {
            consumer.accept(new Request(codec.decode(frames), channel));
        } catch (MalformedMessageException e) {
            refuse(name, e);
        }
    }

    private void refuse(String channel, MalformedMessageException e) {
        long count = refused.incrementAndGet();
        if (count <= LOGGED_REFUSALS) {
            LOG.log(
                    Level.WARNING,
                    channel + " channel: refused a message: " + e.getMessage()
                            + (count == LOGGED_REFUSALS ? " (further ones are not reported)" : ""));
        }
    }

    /** How many messages were refused because they were malformed or not signed rightly. */
    public long refusedMessages() {
        return refused.get();
    }

    private void echo(List<byte[]> frames) {
        heartbeat.send(frames);
    }

    private void answer(List<byte[]> frames) {
        try {
            Message message = codec.decode(frames);
            if (message.type().equals("input_reply")) {
                answers.add(message);
            }
        } catch (MalformedMessageException e) {
            refuse("stdin", e);
        }
    }

    /** Greets a new subscriber, so that it knows that from now on it misses nothing (Jupyter enhancement proposal 65). */
    private void subscription(List<byte[]> frames) {
        byte[] event = frames.getFirst();
        if (event.length > 0 && event[0] == SUBSCRIBE) {
            String topic = new String(event, 1, event.length - 1, StandardCharsets.UTF_8);
            iopub.send(codec.encode(
                    List.of(topic.getBytes(StandardCharsets.UTF_8)),
                    "iopub_welcome",
                    new JsonObject(),
                    new JsonObject(),
                    Json.object("subscription", topic),
                    List.of()));
        }
    }

    /**
     * Broadcasts.
     *
     * @param parentHeader the header of the request that caused it; empty if there is none
     */
    public void publish(String type, JsonObject parentHeader, JsonObject content) {
        publish(type, parentHeader, content, new JsonObject(), List.of());
    }

    /** Broadcasts with metadata and raw data. */
    public void publish(
            String type, JsonObject parentHeader, JsonObject content, JsonObject metadata, List<byte[]> buffers) {
        byte[] topic = ("kernel." + codec.session() + "." + type).getBytes(StandardCharsets.UTF_8);
        iopub.send(codec.encode(List.of(topic), type, parentHeader, metadata, content, buffers));
    }

    /**
     * Waits while more output is queued than memory should be spent on.
     *
     * @throws InterruptedException if the calling thread is interrupted
     */
    public void awaitRoom() throws InterruptedException {
        while (iopub.outgoingBytes() > MAX_QUEUED_BYTES) {
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    /** Answers a request on the channel that it came from. */
    public void reply(Request request, String type, JsonObject content) {
        Message message = request.message();
        request.channel()
                .send(codec.encode(message.identities(), type, message.header(), new JsonObject(), content, List.of()));
    }

    /**
     * Asks the user who sent a request and waits for the answer.
     *
     * @param password whether what is typed must not be seen
     * @throws InterruptedException if the calling thread is interrupted
     */
    public synchronized String input(Request request, String prompt, boolean password) throws InterruptedException {
        Message message = request.message();
        List<byte[]> question = codec.encode(
                message.identities(),
                "input_request",
                message.header(),
                new JsonObject(),
                Json.object("prompt", prompt, "password", password),
                List.of());
        String id = codec.id(question);
        answers.clear();
        stdin.send(question);
        while (true) {
            Message answer = answers.take();
            // A late answer to what an interrupted cell asked is none to this. Some front ends do not say what they
            // answer.
            String asked = Json.string(answer.parentHeader(), "msg_id").orElse("");
            if (asked.isEmpty() || asked.equals(id) || asked.equals(message.id())) {
                return Json.string(answer.content(), "value").orElse("");
            }
        }
    }

    /** Sends what is queued and closes everything. */
    @Override
    public void close() {
        List.of(shell, control, stdin, heartbeat, iopub).forEach(SocketThread::close);
        context.close();
    }
}
