package org.benchtop.pc.chardev;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.spi.chardev.ChardevType;
import org.benchtop.testkit.ChardevContract;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.api.Test;

class StdioTest implements ChardevContract {
    private static final StdioOptions PLAIN = new StdioOptions(false, StdioOptions.Escape.AUTO, Duration.ofSeconds(10));

    private final FakeEventLoop loop = new FakeEventLoop();
    private final FakeCreateContext context = new FakeCreateContext("tty0", loop);
    private final Typewriter guest = new Typewriter();

    @SuppressWarnings("unchecked")
    private Chardev open(FakeStream stream, StdioOptions options) {
        context.host(new FakeHostServices().stream("stdio", stream));
        ChardevType<StdioOptions> type = (ChardevType<StdioOptions>) Chardevs.types().stream()
                .filter(candidate -> candidate.name().equals("stdio"))
                .findFirst()
                .orElseThrow();
        return type.create(options, context);
    }

    private Chardev connected(FakeStream stream, StdioOptions options) {
        Chardev chardev = open(stream, options);
        chardev.connect(guest, loop);
        loop.runPending();
        return chardev;
    }

    @Override
    public Subject subject() {
        FakeStream stream = new FakeStream(false);
        Chardev chardev = open(stream, PLAIN);
        return new Subject(
                chardev,
                loop,
                Optional.of(() -> stream.output().getBytes(StandardCharsets.ISO_8859_1)),
                Optional.of(bytes -> {
                    stream.type(new String(bytes, StandardCharsets.ISO_8859_1));
                    stream.poke(loop);
                }));
    }

    private void type(FakeStream stream, String text) {
        stream.type(text);
        stream.poke(loop);
    }

    @Test
    void keysReachTheGuest() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, PLAIN);
        type(terminal, "ls\r\u0003");

        assertEquals("ls\r\u0003", guest.text());
        assertEquals(List.of(ChardevEvent.OPENED), guest.events());
    }

    @Test
    void controlAThenXStopsTheMachine() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, PLAIN);
        type(terminal, "a\u0001");
        type(terminal, "xb");

        assertEquals(1, context.stopRequests());
        assertEquals("ab", guest.text());
    }

    @Test
    void controlAThenRResumesTheMachine() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, PLAIN);
        type(terminal, "a\u0001rb");

        assertEquals(1, context.resumeRequests());
        assertEquals(0, context.stopRequests());
        assertEquals("ab", guest.text());
    }

    @Test
    void controlATwiceIsLiteral() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, PLAIN);
        type(terminal, "\u0001\u0001q");

        assertEquals("\u0001q", guest.text());
    }

    @Test
    void helpGoesToTheTerminalOnly() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, PLAIN);
        type(terminal, "\u0001h");

        assertTrue(terminal.output().contains("Ctrl-A x"), terminal.output());
        assertEquals("", guest.text());
    }

    @Test
    void controlABSendsABreak() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, PLAIN);
        type(terminal, "\u0001bh");

        assertEquals(List.of(ChardevEvent.OPENED, ChardevEvent.BREAK), guest.events());
        assertEquals("h", guest.text());
    }

    @Test
    void unknownCommandReachesNobody() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, PLAIN);
        type(terminal, "\u0001z");

        assertEquals("", guest.text());
    }

    @Test
    void pipePassesControlAThrough() {
        FakeStream pipe = new FakeStream(false);
        connected(pipe, PLAIN);
        type(pipe, "\u0001x");

        assertEquals("\u0001x", guest.text());
        assertEquals(0, context.stopRequests());
    }

    @Test
    void signalOptionMakesControlCStop() {
        FakeStream terminal = new FakeStream(true);
        connected(terminal, new StdioOptions(true, StdioOptions.Escape.AUTO, Duration.ofSeconds(10)));
        type(terminal, "\u0003");

        assertEquals(1, context.stopRequests());
        assertEquals("", guest.text());
    }

    @Test
    void endOfInputStopsWatchingButOutputGoesOn() {
        FakeStream pipe = new FakeStream(false);
        Chardev chardev = connected(pipe, PLAIN);
        pipe.end();
        pipe.poke(loop);
        assertEquals(0, pipe.watches(), "a hang-up would keep the loop busy");

        chardev.write((byte) 'o');
        loop.runPending();

        assertEquals("o", pipe.output());
    }

    @Test
    void inputThatTheGuestDoesNotTakeStaysWithTheHost() {
        FakeStream pipe = new FakeStream(false);
        Chardev chardev = connected(pipe, PLAIN);
        guest.room(0);
        String text = "0123456789".repeat(1000);
        pipe.type(text);
        for (int i = 0; i < 10; i++) {
            pipe.poke(loop);
        }
        assertTrue(pipe.unread() > 0, "everything was read ahead");

        guest.room(Integer.MAX_VALUE);
        chardev.resumeInput();
        for (int i = 0; i < 10; i++) {
            loop.runPending();
            pipe.poke(loop);
        }

        assertEquals(text, guest.text());
    }

    @Test
    void slowReaderRefusesAndTellsWhenItGoesOn() {
        FakeStream pipe = new FakeStream(false);
        Chardev chardev = connected(pipe, PLAIN);
        pipe.room(0);
        int taken = 0;
        while (chardev.write((byte) ('a' + taken % 26)) && taken < 1 << 20) {
            taken++;
        }
        loop.runPending();
        assertEquals(64 * 1024, taken);
        assertEquals(0, guest.writables());

        pipe.room(Integer.MAX_VALUE);
        pipe.poke(loop);
        loop.runPending();

        assertEquals(taken, pipe.output().length());
        assertEquals(1, guest.writables());
    }

    @Test
    void stuckReaderStopsHoldingTheGuestUpAndSeesWhatIsMissing() {
        FakeStream pipe = new FakeStream(false);
        Chardev chardev = connected(pipe, new StdioOptions(false, StdioOptions.Escape.AUTO, Duration.ofMillis(20)));
        pipe.room(0);
        while (chardev.write((byte) 'x')) {
            loop.runPending();
        }
        Await.until(loop, "the end of patience", () -> guest.writables() > 0);

        for (int i = 0; i < 1000; i++) {
            assertTrue(chardev.write((byte) 'y'));
        }
        pipe.room(Integer.MAX_VALUE);
        pipe.poke(loop);
        loop.runPending();
        chardev.write((byte) 'z');
        loop.runPending();

        assertTrue(pipe.output().contains("[benchtop: 1000 bytes of output dropped]"), "no marker");
        assertTrue(pipe.output().endsWith("z"));
        assertEquals(1000, context.stats().value("dropped-bytes"));
    }

    @Test
    void brokenPipeDropsOutputAndReportsIt() {
        FakeStream pipe = new FakeStream(false);
        Chardev chardev = connected(pipe, PLAIN);
        pipe.breakOutput();
        chardev.write((byte) 'a');
        loop.runPending();

        for (int i = 0; i < 100_000; i++) {
            assertTrue(chardev.write((byte) 'b'));
        }
        loop.runPending();

        assertEquals(List.of(ChardevEvent.OPENED, ChardevEvent.CLOSED), guest.events());
    }

    @Test
    void closeFlushesAndReleasesEverything() {
        FakeStream pipe = new FakeStream(false);
        Chardev chardev = connected(pipe, PLAIN);
        chardev.write((byte) 'l');
        loop.call(chardev::close);

        assertEquals("l", pipe.output());
        assertTrue(pipe.closed());
        assertEquals(0, pipe.watches());
        assertEquals(0, loop.openHandles());
    }
}
