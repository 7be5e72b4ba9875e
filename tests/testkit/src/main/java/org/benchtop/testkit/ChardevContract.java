package org.benchtop.testkit;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.event.EventLoop;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** What every {@link Chardev} must do: implement this in a test class and supply backends. */
public interface ChardevContract {
    /**
     * A new backend.
     *
     * @param chardev the backend
     * @param loop the loop that its front end uses
     * @param output what has arrived at the other side so far; empty where it cannot be seen
     * @param input lets the other side send; empty where there is no input
     */
    record Subject(
            Chardev chardev, EventLoop loop, Optional<Supplier<byte[]>> output, Optional<Consumer<byte[]>> input) {}

    /** A new backend whose other side is there. Called once in a test. */
    Subject subject();

    /** A front end with a limited buffer. */
    final class Receiver implements ChardevFrontend {
        private final EventLoop loop;
        private final ByteArrayOutputStream received = new ByteArrayOutputStream();
        private int room;

        Receiver(EventLoop loop, int room) {
            this.loop = loop;
            this.room = room;
        }

        @Override
        public synchronized int receivable() {
            assertTrue(loop.inLoop(), "receivable() outside the front end's loop");
            return room;
        }

        @Override
        public synchronized void receive(byte[] buffer, int offset, int lengthBytes) {
            assertTrue(loop.inLoop(), "receive() outside the front end's loop");
            assertTrue(lengthBytes <= room, "received " + lengthBytes + " bytes where " + room + " fit");
            room -= lengthBytes;
            received.write(buffer, offset, lengthBytes);
        }

        synchronized void grow(int bytes) {
            room += bytes;
        }

        synchronized String text() {
            return received.toString(StandardCharsets.ISO_8859_1);
        }
    }

    @Test
    default void outputArrivesInOrder() {
        Subject subject = subject();
        Assumptions.assumeTrue(subject.output.isPresent(), "output cannot be seen");
        subject.chardev.connect(new Receiver(subject.loop, 0), subject.loop);
        byte[] text = "xhello".getBytes(StandardCharsets.ISO_8859_1);

        int taken = subject.chardev.write(text, 1, 5);
        boolean more = subject.chardev.write((byte) '!');

        assertEquals(5, taken);
        assertTrue(more);
        BlockClient.await(subject.loop, () -> subject.output.get().get().length >= 6, "output");
        assertEquals("hello!", new String(subject.output.get().get(), StandardCharsets.ISO_8859_1));
        subject.chardev.close();
    }

    @Test
    default void inputRespectsTheRoomOfTheFrontEnd() {
        Subject subject = subject();
        Assumptions.assumeTrue(subject.input.isPresent(), "there is no input");
        Receiver receiver = new Receiver(subject.loop, 3);
        subject.chardev.connect(receiver, subject.loop);

        subject.input.get().accept("abcdef".getBytes(StandardCharsets.ISO_8859_1));
        BlockClient.await(subject.loop, () -> receiver.text().length() >= 3, "input");
        assertEquals("abc", receiver.text());
        receiver.grow(16);
        subject.chardev.resumeInput();
        BlockClient.await(subject.loop, () -> receiver.text().length() >= 6, "rest of the input");

        assertEquals("abcdef", receiver.text());
        subject.chardev.close();
    }

    @Test
    default void reconnectingAFrontEndWorks() {
        Subject subject = subject();
        subject.chardev.connect(new Receiver(subject.loop, 0), subject.loop);
        subject.chardev.disconnect();

        subject.chardev.connect(new Receiver(subject.loop, 0), subject.loop);

        assertEquals(1, subject.chardev.write(new byte[] {'x'}, 0, 1));
        subject.chardev.close();
    }

    @Test
    default void closeWorksTwiceAndWritesAfterItDoNotThrow() {
        Subject subject = subject();
        subject.chardev.connect(new Receiver(subject.loop, 0), subject.loop);

        subject.chardev.close();
        subject.chardev.close();

        assertDoesNotThrow(() -> subject.chardev.write((byte) 1));
        assertDoesNotThrow(subject.chardev::resumeInput);
        assertFalse(subject.chardev.describe().isBlank());
    }
}
