package org.benchtop.pc.chardev;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.chardev.ChardevEvent;
import org.benchtop.spi.chardev.ChardevFrontend;

/** A front end that records what it is told. */
final class Typewriter implements ChardevFrontend {
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final List<ChardevEvent> events = new ArrayList<>();
    private int room = Integer.MAX_VALUE;
    private int writables;

    synchronized void room(int bytes) {
        room = bytes;
    }

    synchronized String text() {
        return received.toString(StandardCharsets.ISO_8859_1);
    }

    synchronized List<ChardevEvent> events() {
        return List.copyOf(events);
    }

    synchronized int writables() {
        return writables;
    }

    @Override
    public synchronized int receivable() {
        return room;
    }

    @Override
    public synchronized void receive(byte[] buffer, int offset, int lengthBytes) {
        received.write(buffer, offset, lengthBytes);
        room -= lengthBytes;
    }

    @Override
    public synchronized void writable() {
        writables++;
    }

    @Override
    public synchronized void event(ChardevEvent event) {
        events.add(event);
    }
}
