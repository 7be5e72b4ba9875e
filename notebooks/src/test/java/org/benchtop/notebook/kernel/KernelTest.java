package org.benchtop.notebook.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.benchtop.notebook.wire.Channels;
import org.benchtop.notebook.wire.ConnectionFile;
import org.benchtop.notebook.wire.Json;
import org.benchtop.notebook.wire.Message;
import org.benchtop.notebook.wire.TestClient;
import org.benchtop.notebook.wire.TestClient.Exchange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** A kernel and a front end in one process, over real sockets. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KernelTest {
    private final CountDownLatch shutdown = new CountDownLatch(1);
    private final Channels channels =
            new Channels(new ConnectionFile("tcp", "127.0.0.1", 0, 0, 0, 0, 0, "hmac-sha256", "secret"));
    private final Kernel kernel =
            new Kernel(channels, new PlainJava(), new History(Optional.empty()), shutdown::countDown);
    private final TestClient client = new TestClient(channels.bound());

    /** Cells without the lab. */
    private static final class PlainJava implements Environment {
        @Override
        public String version() {
            return "test";
        }

        @Override
        public String banner() {
            return "test";
        }

        @Override
        public Map<String, String> helpLinks() {
            return Map.of();
        }

        @Override
        public String startup() {
            return "import java.util.*;\nimport static org.benchtop.notebook.display.Jupyter.*;";
        }

        @Override
        public List<Magic> magics() {
            return List.of();
        }

        @Override
        public void ready(ClassLoader cells) {}

        @Override
        public boolean showLive(Object value) {
            return false;
        }

        @Override
        public void close() {}
    }

    @BeforeAll
    void start() throws InterruptedException {
        kernel.start();
        client.awaitPublished(message -> message.type().equals("iopub_welcome"));
        kernel.awaitReady();
    }

    @AfterAll
    void close() {
        client.close();
        kernel.close();
        channels.close();
    }

    @Test
    void kernelInfoNamesProtocolAndLanguage() {
        JsonObject info =
                client.request("kernel_info_request", new JsonObject()).reply().content();

        assertEquals("5.4", Json.string(info, "protocol_version").orElse(""));
        assertEquals(
                "java", Json.string(Json.member(info, "language_info"), "name").orElse(""));
        assertEquals(
                "ok",
                Json.string(
                                client.control("kernel_info_request", new JsonObject())
                                        .content(),
                                "status")
                        .orElse(""));
    }

    @Test
    void lastExpressionIsTheResult() {
        Exchange exchange = client.execute("int x = 6;\nint y = 7;\nx * y");

        assertEquals("ok", exchange.status());
        assertEquals("42", exchange.result());
        assertEquals("busy", state(exchange.published().getFirst()));
        assertEquals("execute_input", exchange.published().get(1).type());
    }

    private static String state(Message message) {
        return Json.string(message.content(), "execution_state").orElse("");
    }

    @Test
    void declarationsAndStatementsHaveNoResult() {
        assertTrue(client.execute("int declared = 5;").first("execute_result").isEmpty());
        assertTrue(client.execute("declared = 6;").first("execute_result").isEmpty());
        assertTrue(client.execute("for (int i = 0; i < 2; i++) {}")
                .first("execute_result")
                .isEmpty());
        assertTrue(client.execute("// only a comment").first("execute_result").isEmpty());
        assertTrue(client.execute("").first("execute_result").isEmpty());
    }

    @Test
    void declarationsOfACellSeeEachOther() {
        Exchange exchange = client.execute("""
                record Pair(int a, int b) {
                    int sum() { return a + b; }
                }
                int twice(int n) {
                    return 2 * n;
                }
                twice(new Pair(3, 4).sum())
                """);

        assertEquals("14", exchange.result());
    }

    @Test
    void outputIsGatheredInOrder() {
        Exchange exchange = client.execute("""
                for (int i = 0; i < 10_000; i++) { System.out.println("line " + i); }
                System.err.println("problem");
                System.out.print("end ä€😀");
                """);

        assertTrue(exchange.text("stdout").startsWith("line 0\nline 1\n"));
        assertTrue(exchange.text("stdout").endsWith("line 9999\nend ä€😀"), "text must be whole");
        assertEquals("problem\n", exchange.text("stderr"));
        long streams = exchange.published().stream()
                .filter(message -> message.type().equals("stream"))
                .count();
        assertTrue(streams < 200, "10,000 lines came in " + streams + " messages");
    }

    @Test
    void backgroundOutputBelongsToTheCellThatStartedIt() {
        client.execute("var gate = new java.util.concurrent.CountDownLatch(1);");
        Exchange starter = client.execute("""
                Thread late = new Thread(() -> {
                    try { gate.await(); } catch (InterruptedException e) { return; }
                    System.out.println("from the thread");
                });
                late.start();
                """);
        Exchange other = client.execute("gate.countDown(); late.join(); System.out.println(\"from the cell\");");

        Message stream = client.awaitPublished(message -> message.type().equals("stream")
                && Json.string(message.content(), "text").orElse("").contains("from the thread"));

        assertEquals(TestClient.parent(starter.reply()), TestClient.parent(stream));
        assertEquals("from the cell\n", other.text("stdout"));
    }

    @Test
    void compilationErrorMarksTheLineOfTheCell() {
        Exchange exchange = client.execute("int good = 1;\n\nint bad = \"text\";\nint unreached = 2;");

        assertEquals("error", exchange.status());
        assertTrue(exchange.traceback().contains("line 3: incompatible types"), exchange.traceback());
        assertTrue(exchange.traceback().contains("▶ 3 │ int bad = \"text\";"), exchange.traceback());
        assertTrue(exchange.traceback().contains("^^^^^^"), exchange.traceback());
        assertTrue(exchange.first("error").isPresent());
    }

    @Test
    void exceptionNamesCellLineAndCauses() {
        Exchange exchange = client.execute("""
                class Thrower {
                    void fail() {
                        throw new IllegalStateException("outer", new RuntimeException("inner"));
                    }
                }
                void call() {
                    new Thrower().fail();
                }
                call();
                """);

        String traceback = exchange.traceback();
        assertEquals(
                "IllegalStateException",
                Json.string(exchange.reply().content(), "ename").orElse(""));
        assertEquals("outer", Json.string(exchange.reply().content(), "evalue").orElse(""));
        assertTrue(traceback.contains("at Thrower.fail (cell "), traceback);
        assertTrue(traceback.contains(", line 3)"), traceback);
        assertTrue(traceback.contains(", line 9"), traceback);
        assertTrue(traceback.contains("Caused by: java.lang.RuntimeException: inner"), traceback);
        assertFalse(traceback.contains("$JShell"), traceback);
        assertFalse(traceback.contains("REPL"), traceback);
    }

    @Test
    void missingNameIsAnErrorNotSilence() {
        Exchange method = client.execute("int half() { return undefinedYet() / 2; }");
        Exchange variable = client.execute("UndefinedType thing;");

        assertTrue(method.text("stderr").contains("half refers to method undefinedYet()"), method.text("stderr"));
        assertEquals("error", variable.status());
        assertTrue(variable.traceback().contains("class UndefinedType"), variable.traceback());
    }

    @Test
    void failureAbortsWhatWasQueuedBehindIt() {
        String first = client.sendCell("input(\"\"); throw new RuntimeException(\"stop\");");
        String second = client.sendCell("System.out.println(\"must not run\")");
        // Its answer shows that the second cell has been received.
        client.request("kernel_info_request", new JsonObject());
        client.answer(first, "");
        Exchange failed = client.await(first);
        Exchange aborted = client.await(second);
        Exchange later = client.execute("1");

        assertEquals("error", failed.status());
        assertEquals("aborted", aborted.status());
        assertEquals("", aborted.text("stdout"));
        assertEquals("ok", later.status());
    }

    @Test
    void failureAbortsNothingIfTheCellSaysSo() {
        JsonObject cell = TestClient.cell("throw new RuntimeException(\"go on\");");
        cell.addProperty("stop_on_error", false);
        String first = client.send("execute_request", cell);
        String second = client.sendCell("2");

        assertEquals("error", client.await(first).status());
        assertEquals("ok", client.await(second).status());
    }

    @Test
    void silentCellsAreNotCounted() {
        int before = Json.integer(client.execute("1").reply().content(), "execution_count", -1);
        JsonObject cell = TestClient.cell("40 + 2");
        cell.addProperty("silent", true);
        Exchange silent = client.request("execute_request", cell);
        int after = Json.integer(client.execute("1").reply().content(), "execution_count", -1);

        assertTrue(silent.first("execute_input").isEmpty());
        assertTrue(silent.first("execute_result").isEmpty());
        assertEquals(before + 1, after);
    }

    @Test
    void userExpressionsAreEvaluated() {
        JsonObject cell = TestClient.cell("int forExpressions = 20;");
        cell.add("user_expressions", Json.object("good", "forExpressions + 1", "bad", "nonsense("));
        JsonObject results =
                Json.member(client.request("execute_request", cell).reply().content(), "user_expressions");

        JsonObject good = Json.member(results, "good");
        assertEquals("21", Json.string(Json.member(good, "data"), "text/plain").orElse(""));
        assertEquals("error", Json.string(Json.member(results, "bad"), "status").orElse(""));
    }

    @Test
    void inputIsAskedForAndAnswered() {
        String id = client.sendCell("var name = input(\"your name? \"); System.out.println(\"hello \" + name)");

        Message question = client.answer(id, "Ada");
        Exchange exchange = client.await(id);

        assertEquals("your name? ", Json.string(question.content(), "prompt").orElse(""));
        assertEquals("hello Ada\n", exchange.text("stdout"));
    }

    @Test
    void lateAnswerToAnInterruptedQuestionIsNotTaken() {
        String earlier = client.sendCell("input(\"never answered in time\")");
        Message old = client.question();
        while (!TestClient.parent(old).equals(earlier)) {
            old = client.question();
        }
        client.control("interrupt_request", new JsonObject());
        client.await(earlier);
        String id = client.sendCell("input(\"again\")");
        Message question = client.question();

        client.answer(old, "late");
        client.answer(question, "right");

        assertEquals("right", client.await(id).result());
    }

    @Test
    void standardInputReadsLines() {
        String id = client.sendCell("var scanner = new Scanner(System.in); scanner.nextLine() + \"!\"");

        client.answer(id, "typed");

        assertEquals("typed!", client.await(id).result());
    }

    @Test
    void inputThatIsNotAllowedIsAnError() {
        JsonObject cell = TestClient.cell("input(\"?\")");
        cell.addProperty("allow_stdin", false);

        Exchange exchange = client.request("execute_request", cell);

        assertEquals("error", exchange.status());
        assertTrue(exchange.traceback().contains("does not let cells ask"), exchange.traceback());
    }

    private Exchange interrupted(String code) {
        String id = client.sendCell("System.out.println(\"running\"); System.out.flush();\n" + code);
        client.awaitPublished(message ->
                TestClient.parent(message).equals(id) && message.type().equals("stream"));
        client.control("interrupt_request", new JsonObject());
        return client.await(id);
    }

    @Test
    void interruptEndsEndlessLoopsAndWaits() {
        for (String code : List.of(
                "while (true) {}",
                "Thread.sleep(1_000_000);",
                "new java.util.concurrent.CountDownLatch(1).await();",
                "input(\"never answered\");",
                "while (true) { try { Thread.sleep(1000); } catch (InterruptedException e) { } }")) {
            Exchange exchange = interrupted(code);

            assertEquals("error", exchange.status(), code);
            assertEquals(
                    "Interrupted",
                    Json.string(exchange.reply().content(), "ename").orElse(""),
                    code);
            assertEquals("3", client.execute("1 + 2").result(), "after " + code);
        }
    }

    @Test
    void exitOfACellDoesNotEndTheKernel() {
        Exchange exchange = client.execute("System.exit(3);");

        assertEquals("error", exchange.status());
        assertTrue(exchange.traceback().contains("the kernel goes on"), exchange.traceback());
        assertEquals("2", client.execute("1 + 1").result());
    }

    @Test
    void endlessRecursionIsAnError() {
        Exchange exchange = client.execute("int deeper(int n) { return deeper(n + 1) + 1; }\ndeeper(0)");

        assertEquals(
                "StackOverflowError",
                Json.string(exchange.reply().content(), "ename").orElse(""));
        assertTrue(exchange.traceback().contains("times)"), exchange.traceback());
        assertTrue(exchange.traceback().lines().count() < 40, "a short traceback");
        assertEquals("2", client.execute("1 + 1").result());
    }

    @Test
    void exhaustedHeapIsAnError() {
        Exchange exchange =
                client.execute("var hog = new ArrayList<long[]>();\nwhile (true) { hog.add(new long[8 << 20]); }");
        Exchange after = client.execute("hog = null; System.gc(); 5");

        assertEquals(
                "OutOfMemoryError",
                Json.string(exchange.reply().content(), "ename").orElse(""));
        assertEquals("5", after.result());
    }

    @Test
    void completionKnowsTypesMembersAndVariables() {
        client.execute("String completed = \"x\";");

        assertTrue(matches("completed.toUpp", 15).contains("toUpperCase("));
        assertTrue(matches("Array", 5).contains("ArrayList"));
        assertTrue(matches("int local = 1;\nlocal + comple", 29).contains("completed"));
        assertTrue(matches("import java.util.function.*;\ncompl", 34).contains("completed"));
        assertTrue(matches("%ti", 3).contains("%time"));
        assertTrue(matches("%%ti", 4).contains("%%time"));
    }

    private List<String> matches(String code, int cursor) {
        JsonObject reply = client.request("complete_request", Json.object("code", code, "cursor_pos", cursor))
                .reply()
                .content();
        return reply.getAsJsonArray("matches").asList().stream()
                .map(match -> match.getAsString())
                .toList();
    }

    @Test
    void cursorCountsCodePoints() {
        String code = "String s = \"😀😀\"; s.toUpp";
        JsonObject reply = client.request(
                        "complete_request",
                        Json.object("code", code, "cursor_pos", code.codePointCount(0, code.length())))
                .reply()
                .content();

        assertEquals(code.codePointCount(0, code.length()) - 5, Json.integer(reply, "cursor_start", -1));
        assertEquals(code.codePointCount(0, code.length()), Json.integer(reply, "cursor_end", -1));
    }

    @Test
    void completionIsAnsweredWhileACellRuns() {
        String id = client.sendCell("System.out.println(\"running\"); System.out.flush(); while (true) {}");
        client.awaitPublished(message ->
                TestClient.parent(message).equals(id) && message.type().equals("stream"));

        assertTrue(matches("Math.ab", 7).contains("abs("));

        client.control("interrupt_request", new JsonObject());
        client.await(id);
    }

    @Test
    void inspectionShowsJavadoc() {
        JsonObject reply = client.request(
                        "inspect_request", Json.object("code", "Math.abs(1)", "cursor_pos", 7, "detail_level", 0))
                .reply()
                .content();

        String text = Json.string(Json.member(reply, "data"), "text/plain").orElse("");
        assertTrue(text.contains("Math.abs(int"), text);
        JsonObject nothing = client.request("inspect_request", Json.object("code", "zzz qqq", "cursor_pos", 3))
                .reply()
                .content();
        assertFalse(Json.bool(nothing, "found", true));
    }

    @Test
    void inspectionSurvivesATypeWithAMistake() {
        client.execute("class Mistaken { int a = \"text\"; }");

        JsonObject reply = client.request(
                        "inspect_request", Json.object("code", "Math.abs(1)", "cursor_pos", 7, "detail_level", 0))
                .reply()
                .content();

        assertTrue(Json.bool(reply, "found", false), reply.toString());
        assertEquals("error", client.execute("new Mistaken()").status());
    }

    @Test
    void completenessIsTold() {
        Map<String, String> expected = Map.of(
                "int a = 1;", "complete",
                "a + 1", "complete",
                "for (int i = 0; i < 3; i++) {", "incomplete",
                "int f() {\n    return 1;", "incomplete",
                "int ] = ;", "invalid",
                "%help", "complete",
                "%%time\nx", "incomplete");
        expected.forEach((code, status) -> assertEquals(
                status,
                Json.string(
                                client.request("is_complete_request", Json.object("code", code))
                                        .reply()
                                        .content(),
                                "status")
                        .orElse(""),
                code));
    }

    @Test
    void historyRemembersCells() {
        client.execute("int remembered = 1; // first");
        client.execute("remembered + 1 // second");
        JsonObject reply = client.request(
                        "history_request", Json.object("hist_access_type", "tail", "n", 1, "output", true, "raw", true))
                .reply()
                .content();
        String found = reply.getAsJsonArray("history").toString();
        JsonObject searched = client.request(
                        "history_request",
                        Json.object("hist_access_type", "search", "pattern", "*first*", "output", false))
                .reply()
                .content();

        assertTrue(found.contains("second") && found.contains("\"2\""), found);
        assertTrue(searched.getAsJsonArray("history").toString().contains("remembered"), searched.toString());
    }

    @Test
    void displaysAreShownAndUpdated() {
        Exchange exchange = client.execute("""
                String id = display(html("<b>one</b>"));
                updateDisplay(id, html("<b>two</b>"));
                clearOutput(true);
                try (var bar = progress("work", 3)) { bar.step(); }
                """);

        Message shown = exchange.first("display_data").orElseThrow();
        Message updated = exchange.first("update_display_data").orElseThrow();
        assertEquals(
                "<b>one</b>",
                Json.string(Json.member(shown.content(), "data"), "text/html").orElse(""));
        assertEquals(
                "<b>two</b>",
                Json.string(Json.member(updated.content(), "data"), "text/html").orElse(""));
        assertEquals(
                Json.string(Json.member(shown.content(), "transient"), "display_id"),
                Json.string(Json.member(updated.content(), "transient"), "display_id"));
        assertTrue(exchange.first("clear_output").isPresent());
        assertTrue(exchange.published().stream()
                .anyMatch(message -> message.type().equals("update_display_data")
                        && message.content().toString().contains("1 of 3")));
    }

    @Test
    void objectsThatRenderForJjavaRenderHere() {
        Exchange exchange = client.execute("""
                import org.dflib.jjava.jupyter.kernel.display.*;
                import org.dflib.jjava.jupyter.kernel.display.mime.MIMEType;
                class Red implements DisplayDataRenderable {
                    public void render(RenderContext context) {
                        context.renderIfRequested(MIMEType.TEXT_HTML, () -> "<i>red</i>");
                    }
                    public Set<MIMEType> getPreferredRenderTypes() { return Set.of(MIMEType.TEXT_HTML); }
                }
                new Red()
                """);

        Message result = exchange.first("execute_result").orElseThrow();
        assertEquals(
                "<i>red</i>",
                Json.string(Json.member(result.content(), "data"), "text/html").orElse(""));
    }

    @Test
    void unknownCommIsClosedAndKnownOneAnswers() {
        client.execute("""
                comms().target("echo", comm -> comm.onMessage(data -> comm.send(data)));
                """);
        client.send("comm_open", Json.object("comm_id", "c1", "target_name", "nobody", "data", new JsonObject()));
        client.awaitPublished(message -> message.type().equals("comm_close")
                && Json.string(message.content(), "comm_id").orElse("").equals("c1"));
        client.send("comm_open", Json.object("comm_id", "c2", "target_name", "echo", "data", new JsonObject()));
        client.send("comm_msg", Json.object("comm_id", "c2", "data", Json.object("n", 5)));
        Message echo = client.awaitPublished(message -> message.type().equals("comm_msg"));
        JsonObject info = client.request("comm_info_request", Json.object("target_name", "echo"))
                .reply()
                .content();

        assertEquals(5, Json.integer(Json.member(echo.content(), "data"), "n", 0));
        assertTrue(Json.member(info, "comms").has("c2"), info.toString());
    }

    @Test
    void magicsRunAmongJava() {
        Exchange timed = client.execute("int m = 1;\n%time m + 41\n");
        Exchange who = client.execute("int whom = 5;\n%who");
        Exchange unknown = client.execute("%tiem 1");
        Exchange modulo = client.execute("int rest = 17\n    % 5;\nrest");

        assertEquals("42", timed.result());
        assertTrue(timed.text("stderr").contains("time: "), timed.text("stderr"));
        assertTrue(who.result().contains("whom"), who.result());
        assertTrue(unknown.traceback().contains("unknown magic %tiem (did you mean \"%time\"?)"), unknown.traceback());
        assertEquals("2", modulo.result());
    }

    @Test
    void replacedAndUnnamedValuesAreLetGo() {
        client.execute("""
                class Tracked { }
                List<java.lang.ref.WeakReference<Object>> traces = new ArrayList<>();
                Tracked make() { Tracked t = new Tracked(); traces.add(new java.lang.ref.WeakReference<>(t)); return t; }
                """);
        client.execute("var kept = make();");
        client.execute("var kept = make();");
        for (int i = 0; i < 25; i++) {
            client.execute("make()");
        }
        Exchange exchange = client.execute("""
                for (int i = 0; i < 100 && (traces.get(0).get() != null || traces.get(2).get() != null); i++) { System.gc(); Thread.sleep(20); }
                (traces.get(0).get() == null) + " " + (traces.get(1).get() != null) + " " + (traces.get(2).get() == null)
                """);

        assertEquals("true true true", exchange.result());
    }

    @Test
    void shutdownIsAnsweredAndPassedOn() throws InterruptedException {
        // On a kernel of its own, because the others need theirs.
        CountDownLatch asked = new CountDownLatch(1);
        Channels own = new Channels(new ConnectionFile("tcp", "127.0.0.1", 0, 0, 0, 0, 0, "hmac-sha256", ""));
        Kernel second = new Kernel(own, new PlainJava(), new History(Optional.empty()), asked::countDown);
        second.start();
        @Nullable Message reply;
        try (TestClient another = new TestClient(own.bound())) {
            reply = another.control("shutdown_request", Json.object("restart", true));
        }

        assertTrue(asked.await(1, TimeUnit.MINUTES));
        assertEquals("shutdown_reply", reply.type());
        assertTrue(Json.bool(reply.content(), "restart", false));
        second.close();
        own.close();
    }
}
