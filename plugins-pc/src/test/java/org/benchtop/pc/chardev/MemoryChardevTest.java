package org.benchtop.pc.chardev;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.spi.chardev.ConsoleBuffer;
import org.benchtop.testkit.AllocationMeter;
import org.benchtop.testkit.ChardevContract;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.junit.jupiter.api.Test;

class MemoryChardevTest implements ChardevContract {
    private final FakeEventLoop loop = new FakeEventLoop();
    private final MemoryChardev chardev =
            new MemoryChardev(new MemoryOptions(1024), new FakeCreateContext("con", loop));
    private final ConsoleBuffer console = chardev.console().orElseThrow();

    private void print(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        assertEquals(bytes.length, chardev.write(bytes, 0, bytes.length));
    }

    @Override
    public Subject subject() {
        return new Subject(
                chardev, loop, Optional.of(() -> console.read(0, Integer.MAX_VALUE)), Optional.of(console::send));
    }

    @Test
    void outputIsReadByPosition() {
        print("hello ");
        long position = console.end();
        print("world");

        assertEquals(6, position);
        assertEquals("world", console.text(position));
        assertEquals("hello world", console.text(0));
        assertEquals("ell", new String(console.read(1, 3), StandardCharsets.ISO_8859_1));
        assertEquals("", console.text(11));
        assertEquals("", console.text(99));
    }

    @Test
    void oldestOutputIsForgottenButPositionsStay() {
        print("a".repeat(1000));
        print("b".repeat(100));

        assertEquals(1100, console.end());
        assertEquals(76, console.start());
        assertEquals("a".repeat(924) + "b".repeat(100), console.text(0));
        assertEquals("b".repeat(100), console.text(1000));
    }

    @Test
    void outputLargerThanTheBufferKeepsItsEnd() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 500; i++) {
            text.append(i).append(',');
        }
        print(text.toString());

        assertEquals(text.substring(text.length() - 1024), console.text(0));
    }

    @Test
    void waiterWakesUpWhenOutputComes() throws Exception {
        CompletableFuture<Long> waiter = CompletableFuture.supplyAsync(() -> {
            try {
                return console.awaitOutput(0, Duration.ofSeconds(60));
            } catch (InterruptedException e) {
                return -1L;
            }
        });

        chardev.write((byte) '!');

        assertEquals(1, waiter.get(60, TimeUnit.SECONDS));
    }

    @Test
    void waitEndsWithTheTimeout() throws InterruptedException {
        assertEquals(0, console.awaitOutput(0, Duration.ofMillis(5)));
    }

    @Test
    void waitEndsWhenTheBackendIsClosed() throws Exception {
        CompletableFuture<Long> waiter = CompletableFuture.supplyAsync(() -> {
            try {
                return console.awaitOutput(0, Duration.ofDays(100_000));
            } catch (InterruptedException e) {
                return -1L;
            }
        });

        chardev.close();

        assertEquals(0, waiter.get(60, TimeUnit.SECONDS));
    }

    @Test
    void typedInputWaitsForTheGuest() {
        Typewriter guest = new Typewriter();
        guest.room(2);
        console.send("abc".getBytes(StandardCharsets.ISO_8859_1));
        chardev.connect(guest, loop);
        loop.runPending();
        assertEquals("ab", guest.text());
        assertEquals(1, console.unsent());

        guest.room(10);
        chardev.resumeInput();
        loop.runPending();

        assertEquals("abc", guest.text());
        assertEquals(0, console.unsent());
    }

    @Test
    void tooMuchUnreadInputIsRefusedAsAWhole() {
        console.send(new byte[1 << 20]);

        assertThrows(BenchtopException.class, () -> console.send(new byte[1]));
        assertEquals(1 << 20, console.unsent());
    }

    @Test
    void breakReachesTheGuest() {
        Typewriter guest = new Typewriter();
        chardev.connect(guest, loop);
        console.sendBreak();
        loop.runPending();

        assertEquals(List.of(ChardevEvent.OPENED, ChardevEvent.BREAK), guest.events());
    }

    @Test
    void listenerIsToldUntilItLeaves() throws Exception {
        AtomicInteger told = new AtomicInteger();
        try (AutoCloseable listening = console.onOutput(told::incrementAndGet)) {
            print("x");
            assertTrue(listening != null);
        }
        print("y");

        assertEquals(1, told.get());
    }

    @Test
    void outputAllocatesNothing() {
        assertEquals(0, AllocationMeter.bytesPerRound(20_000, () -> chardev.write((byte) 'x')));
    }
}
