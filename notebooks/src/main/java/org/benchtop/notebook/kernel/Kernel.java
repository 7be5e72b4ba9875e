package org.benchtop.notebook.kernel;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.benchtop.notebook.display.Comms;
import org.benchtop.notebook.display.FrontEnd;
import org.benchtop.notebook.display.Jupyter;
import org.benchtop.notebook.wire.Channels;
import org.benchtop.notebook.wire.Json;
import org.benchtop.notebook.wire.MessageCodec;
import org.benchtop.notebook.wire.Request;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.jspecify.annotations.Nullable;

/**
 * A Jupyter kernel for Java with the lab (Messaging in Jupyter 5.4).
 *
 * <p>Cells run one after the other on a thread of their own. Everything else, also while a cell runs, is answered at
 * once: questions about code, interrupts, the heartbeat. Nothing that a message or a cell does ends the kernel, except a
 * request to shut down.
 */
public final class Kernel implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");
    private static final long CELL_STACK_BYTES = 16L << 20;
    private static final int RESERVE_BYTES = 24 << 20;
    private static final long STOP_EVERY_MILLIS = 20;

    private final Channels channels;
    private final CellOutput output;
    private final UserInput input;
    private final History history;
    private final Comms comms;
    private final Environment environment;
    private final Runnable onShutdown;
    private final BlockingQueue<Queued> queue = new LinkedBlockingQueue<>();
    private final AtomicLong received = new AtomicLong();
    private final CompletableFuture<Workbench> workbench = new CompletableFuture<>();
    private final ExecutorService questions = Executors.newSingleThreadExecutor(
            Thread.ofPlatform().daemon().name("jupyter-questions").factory());
    private final CountDownLatch ready = new CountDownLatch(1);
    private final AtomicBoolean stopping = new AtomicBoolean();
    private final Thread cells;
    private volatile @Nullable Cell running;
    private volatile long abortedUpTo;
    private int executionCount;
    private byte @Nullable [] reserve = new byte[RESERVE_BYTES];
    private @Nullable Before before;

    /** What was in the places that belong to cells while the kernel runs. */
    private record Before(InputStream in, PrintStream out, PrintStream err, Jupyter.Attachment attachment) {}

    /** A cell that waits for its turn, and its number among all that were received. */
    private record Queued(Request request, long sequence) {}

    /** What runs cells: made on the cells' thread, because that takes the longest. */
    private record Workbench(Interpreter interpreter, Magics magics, Questions questions) {}

    /**
     * A kernel on bound channels.
     *
     * @param environment what cells find when they start
     * @param history what was typed in earlier sessions
     * @param onShutdown called once after a front end has asked the kernel to end
     */
    public Kernel(Channels channels, Environment environment, History history, Runnable onShutdown) {
        this.channels = channels;
        this.environment = environment;
        this.history = history;
        this.onShutdown = onShutdown;
        this.output = new CellOutput(channels);
        this.input = new UserInput(channels, output);
        this.comms = new Comms((type, content, metadata, buffers) ->
                channels.publish(type, currentHeader(), content, metadata, buffers));
        this.cells = Thread.ofPlatform()
                .daemon()
                .name("jupyter-cells")
                .stackSize(CELL_STACK_BYTES)
                .unstarted(this::runCells);
    }

    /** Begins to listen; standard input, output and error of the process belong to cells from now on. */
    public void start() {
        before = new Before(
                System.in, System.out, System.err, Jupyter.attach(new Jupyter.Attachment(new Display(), comms)));
        System.setOut(output.printStream("stdout"));
        System.setErr(output.printStream("stderr"));
        System.setIn(input);
        channels.start(this::shell, this::control);
        channels.publish("status", new JsonObject(), Json.object("execution_state", "starting"));
        cells.start();
    }

    /** Waits until the first cell could run. */
    public void awaitReady() throws InterruptedException {
        ready.await();
    }

    private static JsonObject currentHeader() {
        @Nullable Cell cell = Cell.current();
        return cell == null ? new JsonObject() : cell.header();
    }

    // ---- requests ----

    private void shell(Request request) {
        switch (request.message().type()) {
            case "execute_request" -> {
                queue.add(new Queued(request, received.incrementAndGet()));
            }
            case "kernel_info_request" -> answer(request, "kernel_info_reply", this::info);
            case "shutdown_request" -> shutdown(request);
            case "interrupt_request" -> interrupt(request);
            case "comm_info_request" ->
                answer(
                        request,
                        "comm_info_reply",
                        () -> comms.info(Json.string(request.message().content(), "target_name")
                                .orElse("")));
            default -> questions.execute(() -> question(request));
        }
    }

    private void control(Request request) {
        switch (request.message().type()) {
            case "kernel_info_request" -> answer(request, "kernel_info_reply", this::info);
            case "interrupt_request" -> interrupt(request);
            case "shutdown_request" -> shutdown(request);
            default -> LOG.log(Level.DEBUG, "control channel: {0} is not supported", request.message());
        }
    }

    private void question(Request request) {
        JsonObject content = request.message().content();
        switch (request.message().type()) {
            case "complete_request" ->
                answer(request, "complete_reply", () -> ready().questions().complete(content));
            case "inspect_request" ->
                answer(request, "inspect_reply", () -> ready().questions().inspect(content));
            case "is_complete_request" ->
                answer(request, "is_complete_reply", () -> ready().questions().isComplete(content));
            case "history_request" -> answer(request, "history_reply", () -> history.answer(content));
            case "comm_open" -> quietly(request, () -> comms.opened(content));
            case "comm_msg" -> quietly(request, () -> comms.received(content));
            case "comm_close" -> quietly(request, () -> comms.closed(content));
            default -> LOG.log(Level.DEBUG, "shell channel: {0} is not supported", request.message());
        }
    }

    private Workbench ready() {
        try {
            return workbench.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the kernel starts", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(String.valueOf(e.getCause()), e);
        }
    }

    private void answer(Request request, String type, Supplier<JsonObject> content) {
        status(request, "busy");
        JsonObject reply;
        try {
            reply = content.get();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.DEBUG, () -> request.message() + " failed", e);
            reply = Json.object(
                    "status",
                    "error",
                    "ename",
                    e.getClass().getSimpleName(),
                    "evalue",
                    String.valueOf(e.getMessage()),
                    "traceback",
                    new JsonArray());
        }
        channels.reply(request, type, reply);
        status(request, "idle");
    }

    private void quietly(Request request, Runnable action) {
        status(request, "busy");
        try {
            action.run();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, request.message() + " failed: " + e);
        }
        status(request, "idle");
    }

    private void status(Request request, String state) {
        channels.publish("status", request.message().header(), Json.object("execution_state", state));
    }

    private JsonObject info() {
        JsonArray links = new JsonArray();
        environment.helpLinks().forEach((text, url) -> links.add(Json.object("text", text, "url", url)));
        return Json.object(
                "status",
                "ok",
                "protocol_version",
                MessageCodec.PROTOCOL_VERSION,
                "implementation",
                "benchtop",
                "implementation_version",
                environment.version(),
                "banner",
                environment.banner(),
                "debugger",
                false,
                "help_links",
                links,
                "language_info",
                Json.object(
                        "name", "java",
                        "version", Runtime.version().toString(),
                        "mimetype", "text/x-java-source",
                        "file_extension", ".jshell",
                        "pygments_lexer", "java",
                        "codemirror_mode", "text/x-java"));
    }

    private void interrupt(Request request) {
        status(request, "busy");
        interrupt();
        channels.reply(request, "interrupt_reply", Json.object("status", "ok"));
        status(request, "idle");
    }

    /** Ends the cell that runs, if any; also for signals. */
    public void interrupt() {
        @Nullable Cell cell = running;
        if (cell == null || cell.interrupted()) {
            return;
        }
        cell.interrupt();
        stopUntilEnded(cell);
    }

    /** Again and again, because a stop that hits the compiler between two statements has nothing to stop yet. */
    private void stopUntilEnded(Cell cell) {
        Thread.ofPlatform().daemon().name("jupyter-interrupt").start(() -> {
            try {
                while (running == cell && workbench.isDone()) {
                    ready().interpreter().stop();
                    ready().magics().stop();
                    TimeUnit.MILLISECONDS.sleep(STOP_EVERY_MILLIS);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private void shutdown(Request request) {
        status(request, "busy");
        channels.reply(
                request,
                "shutdown_reply",
                Json.object(
                        "status", "ok", "restart", Json.bool(request.message().content(), "restart", false)));
        status(request, "idle");
        // Not on this channel's thread, which has to send the reply.
        Thread.ofPlatform().name("jupyter-shutdown").start(() -> {
            if (stopping.compareAndSet(false, true)) {
                onShutdown.run();
            }
        });
    }

    // ---- cells ----

    private void runCells() {
        try {
            Interpreter interpreter = new Interpreter();
            interpreter.onExit(code -> {
                throw new ExitRequest(code);
            });
            Magics magics = new Magics(interpreter, environment);
            interpreter.prepare(environment.startup());
            workbench.complete(new Workbench(interpreter, magics, new Questions(interpreter, magics)));
            environment.ready(interpreter.cellLoader());
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "the kernel cannot start", e);
            workbench.completeExceptionally(e);
        }
        ready.countDown();
        while (!stopping.get()) {
            try {
                execute(queue.take());
            } catch (InterruptedException e) {
                LOG.log(Level.DEBUG, "a late interrupt of a cell");
            } catch (RuntimeException | Error e) {
                LOG.log(Level.WARNING, "a cell could not be answered: " + e);
            } finally {
                running = null;
            }
        }
    }

    private void execute(Queued queued) {
        Request request = queued.request();
        long sequence = queued.sequence();
        Cell probe = new Cell(request, executionCount, sequence);
        if (sequence <= abortedUpTo) {
            status(request, "busy");
            channels.reply(
                    request, "execute_reply", Json.object("status", "aborted", "execution_count", executionCount));
            status(request, "idle");
            return;
        }
        if (probe.storesHistory()) {
            executionCount++;
        }
        Cell cell = new Cell(request, Math.max(1, executionCount), sequence);
        cell.enter();
        input.discard();
        running = cell;
        status(request, "busy");
        if (!cell.silent()) {
            channels.publish(
                    "execute_input", cell.header(), Json.object("code", cell.code(), "execution_count", cell.count()));
        }
        JsonObject reply = run(cell);
        running = null;
        System.out.flush();
        System.err.flush();
        output.flush();
        channels.reply(request, "execute_reply", reply);
        status(request, "idle");
    }

    private JsonObject run(Cell cell) {
        try {
            Workbench bench = ready();
            Optional<Object> value = evaluate(bench, cell);
            JsonObject expressions = expressions(bench, cell);
            System.out.flush();
            System.err.flush();
            output.flush();
            Optional<JsonObject> shown = value.filter(result -> cell.silent() || !environment.showLive(result))
                    .map(Kernel::rendered);
            shown.ifPresent(data -> {
                if (!cell.silent()) {
                    data.addProperty("execution_count", cell.count());
                    channels.publish("execute_result", cell.header(), data);
                }
            });
            if (cell.storesHistory()) {
                history.add(
                        cell.count(), cell.code(), shown.map(Kernel::plainText).orElse(""));
            }
            return Json.object(
                    "status",
                    "ok",
                    "execution_count",
                    cell.count(),
                    "user_expressions",
                    expressions,
                    "payload",
                    new JsonArray());
        } catch (CellFailure e) {
            return failed(cell, e);
        } catch (OutOfMemoryError e) {
            reserve = null;
            return failed(cell, outOfMemory());
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "a cell failed outside of its code", e);
            return failed(cell, Traceback.message(e.getClass().getSimpleName(), String.valueOf(e.getMessage())));
        } finally {
            refillReserve();
        }
    }

    private static CellFailure outOfMemory() {
        return Traceback.message(
                "OutOfMemoryError",
                "out of Java heap; set variables that hold much to null, or start the kernel with more"
                        + " (BENCHTOP_JAVA_OPTS=-Xmx4g)");
    }

    private void refillReserve() {
        if (reserve == null) {
            try {
                reserve = new byte[RESERVE_BYTES];
            } catch (OutOfMemoryError e) {
                LOG.log(Level.DEBUG, "still no room for the reserve");
            }
        }
    }

    private Optional<Object> evaluate(Workbench bench, Cell cell) throws CellFailure {
        List<String> warnings = new ArrayList<>();
        Optional<Object> value;
        try {
            value = bench.magics().evaluate(cell, cell.source(), warnings);
        } catch (CellFailure e) {
            if (e.name().equals("OutOfMemoryError")) {
                reserve = null;
            }
            throw e;
        }
        warnings.forEach(warning -> System.err.println("note: " + warning));
        return value;
    }

    private static JsonObject rendered(Object value) {
        return json(Jupyter.render(value));
    }

    private static JsonObject json(DisplayData data) {
        JsonObject json = Json.GSON.toJsonTree(data).getAsJsonObject();
        for (String member : List.of("data", "metadata")) {
            if (!json.has(member)) {
                json.add(member, new JsonObject());
            }
        }
        return json;
    }

    private static String plainText(JsonObject shown) {
        return Json.string(Json.member(shown, "data"), "text/plain").orElse("");
    }

    private JsonObject failed(Cell cell, CellFailure failure) {
        if (cell.stopsOnError()) {
            abortedUpTo = received.get();
        }
        JsonArray traceback = new JsonArray();
        failure.traceback().forEach(traceback::add);
        JsonObject error = Json.object("ename", failure.name(), "evalue", failure.value(), "traceback", traceback);
        System.out.flush();
        System.err.flush();
        output.flush();
        if (!cell.silent()) {
            channels.publish("error", cell.header(), error);
        }
        if (cell.storesHistory()) {
            history.add(cell.count(), cell.code(), "");
        }
        JsonObject reply = error.deepCopy();
        reply.addProperty("status", "error");
        reply.addProperty("execution_count", cell.count());
        reply.add("user_expressions", new JsonObject());
        reply.add("payload", new JsonArray());
        return reply;
    }

    private static JsonObject expressions(Workbench bench, Cell cell) {
        JsonObject results = new JsonObject();
        JsonObject wanted = Json.member(cell.request().message().content(), "user_expressions");
        for (Map.Entry<String, JsonElement> entry : wanted.entrySet()) {
            JsonObject result;
            try {
                Optional<Object> value = bench.interpreter()
                        .evaluate(cell, cell.source(), 0, entry.getValue().getAsString(), new ArrayList<>());
                result = json(Jupyter.render(value.orElse(null)));
                result.addProperty("status", "ok");
            } catch (CellFailure e) {
                JsonArray traceback = new JsonArray();
                e.traceback().forEach(traceback::add);
                result = Json.object("status", "error", "ename", e.name(), "evalue", e.value(), "traceback", traceback);
            } catch (RuntimeException e) {
                result = Json.object(
                        "status",
                        "error",
                        "ename",
                        e.getClass().getSimpleName(),
                        "evalue",
                        String.valueOf(e.getMessage()),
                        "traceback",
                        new JsonArray());
            }
            results.add(entry.getKey(), result);
        }
        return results;
    }

    /** Shows what cells display. */
    private final class Display implements FrontEnd {
        @Override
        public void show(DisplayData data) {
            publish("display_data", data);
        }

        @Override
        public void update(DisplayData data) {
            publish("update_display_data", data);
        }

        private void publish(String type, DisplayData data) {
            System.out.flush();
            output.flush();
            channels.publish(type, currentHeader(), json(data));
        }

        @Override
        public void clear(boolean wait) {
            System.out.flush();
            output.flush();
            channels.publish("clear_output", currentHeader(), Json.object("wait", wait));
        }

        @Override
        public String ask(String prompt, boolean password) throws IOException, InterruptedException {
            return input.ask(prompt, password);
        }
    }

    /** Ends cells and gives the process its standard streams back; the channels stay open. */
    @Override
    public void close() {
        stopping.set(true);
        interrupt();
        @Nullable Before was = before;
        if (was != null) {
            System.setIn(was.in());
            System.setOut(was.out());
            System.setErr(was.err());
            Jupyter.attach(was.attachment());
        }
        output.close();
        questions.shutdownNow();
        cells.interrupt();
    }
}
