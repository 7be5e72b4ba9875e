package org.benchtop.pc.chardev;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevType;
import org.benchtop.testkit.ChardevContract;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeHostServices;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PtyTest implements ChardevContract {
    @TempDir
    Path folder;

    private final FakeEventLoop loop = new FakeEventLoop();
    private final FakeStream stream = new FakeStream(true);

    @SuppressWarnings("unchecked")
    private Chardev open(Optional<Path> link) {
        FakeCreateContext context = new FakeCreateContext("pty0", loop)
                .host(new FakeHostServices().stream("pty", stream))
                .folder(folder);
        ChardevType<PtyOptions> type = (ChardevType<PtyOptions>) Chardevs.types().stream()
                .filter(candidate -> candidate.name().equals("pty"))
                .findFirst()
                .orElseThrow();
        return type.create(new PtyOptions(link, Duration.ofSeconds(2)), context);
    }

    @Override
    public Subject subject() {
        return new Subject(
                open(Optional.empty()),
                loop,
                Optional.of(() -> stream.output().getBytes(StandardCharsets.ISO_8859_1)),
                Optional.of(bytes -> {
                    stream.type(new String(bytes, StandardCharsets.ISO_8859_1));
                    stream.poke(loop);
                }));
    }

    @Test
    void controlAIsTheGuests() {
        Typewriter guest = new Typewriter();
        Chardev chardev = open(Optional.empty());
        chardev.connect(guest, loop);
        stream.type("\u0001x");
        stream.poke(loop);

        assertEquals("\u0001x", guest.text());
        assertTrue(chardev.describe().contains("fake"), chardev.describe());
    }

    @Test
    void linkPointsToTheTerminalAndIsRemoved() throws IOException {
        Path link = folder.resolve("console");
        Files.createSymbolicLink(link, Path.of("stale"));
        Chardev chardev = open(Optional.of(Path.of("console")));
        assertEquals(Path.of("fake"), Files.readSymbolicLink(link));

        loop.call(chardev::close);

        assertTrue(Files.notExists(link, java.nio.file.LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void fileInTheWayOfTheLinkIsKeptAndRefused() throws IOException {
        Files.writeString(folder.resolve("console"), "precious");

        assertThrows(BenchtopException.class, () -> open(Optional.of(Path.of("console"))));

        assertEquals("precious", Files.readString(folder.resolve("console")));
        assertTrue(stream.closed(), "the terminal must be given back");
    }
}
