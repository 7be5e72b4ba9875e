package org.benchtop.pc.chardev;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.testkit.ChardevContract;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.FakeEventLoop;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileChardevTest implements ChardevContract {
    @TempDir
    Path folder;

    private final FakeEventLoop loop = new FakeEventLoop();

    private FileChardev open(String path, boolean append, Optional<Path> input) {
        return new FileChardev(
                new FileOptions(Path.of(path), append, input), new FakeCreateContext("log", loop).folder(folder));
    }

    @Override
    public Subject subject() {
        return new Subject(
                open("out.log", false, Optional.empty()),
                loop,
                Optional.of(() -> {
                    try {
                        return Files.readAllBytes(folder.resolve("out.log"));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }),
                Optional.empty());
    }

    private static void write(FileChardev chardev, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        assertEquals(bytes.length, chardev.write(bytes, 0, bytes.length));
    }

    @Test
    void closeWritesEverything() throws IOException {
        FileChardev chardev = open("out.log", false, Optional.empty());
        write(chardev, "first line\n");
        chardev.write((byte) '2');

        chardev.close();

        assertEquals("first line\n2", Files.readString(folder.resolve("out.log")));
    }

    @Test
    void appendKeepsWhatIsThere() throws IOException {
        Files.writeString(folder.resolve("out.log"), "old ");
        FileChardev appending = open("out.log", true, Optional.empty());
        write(appending, "new");
        appending.close();
        assertEquals("old new", Files.readString(folder.resolve("out.log")));

        open("out.log", false, Optional.empty()).close();

        assertEquals("", Files.readString(folder.resolve("out.log")));
    }

    @Test
    void inputFileIsTypedToTheGuest() throws IOException {
        String script = "echo hello\n".repeat(2000);
        Path input = Files.writeString(folder.resolve("script"), script);
        FileChardev chardev = open("out.log", false, Optional.of(input));
        Typewriter guest = new Typewriter();
        chardev.connect(guest, loop);

        Await.until(loop, "input", () -> guest.text().length() >= script.length());

        assertEquals(script, guest.text());
        chardev.close();
    }

    @Test
    void closeDoesNotWaitForInputThatNobodyReads() throws IOException {
        Path input = Files.write(folder.resolve("script"), new byte[100_000]);
        FileChardev chardev = open("out.log", false, Optional.of(input));

        chardev.close();

        assertTrue(Files.exists(folder.resolve("out.log")));
    }

    @Test
    void fileThatCannotBeOpenedIsAClearError() {
        BenchtopException e =
                assertThrows(BenchtopException.class, () -> open("missing/out.log", false, Optional.empty()));

        assertEquals(ErrorKind.HOST, e.kind());
        assertTrue(String.valueOf(e.getMessage()).contains("missing/out.log"), e.getMessage());
        assertTrue(String.valueOf(e.getMessage()).contains("no such file or directory"), e.getMessage());
    }

    @Test
    void missingInputIsAClearErrorAndLeavesNoOutputFile() {
        assertThrows(BenchtopException.class, () -> open("out.log", false, Optional.of(Path.of("nothing"))));

        assertTrue(Files.notExists(folder.resolve("out.log")));
    }

    @Test
    void fullDeviceLosesOutputButDoesNotStallTheGuest() {
        org.junit.jupiter.api.Assumptions.assumeTrue(Files.isWritable(Path.of("/dev/full")), "no /dev/full here");
        FileChardev chardev = open("/dev/full", true, Optional.empty());
        Typewriter guest = new Typewriter();
        chardev.connect(guest, loop);
        chardev.write((byte) 'x');

        Await.until(loop, "room after the failure", () -> {
            boolean all = true;
            for (int i = 0; i < 100_000; i++) {
                all &= chardev.write((byte) 'y');
            }
            return all;
        });

        chardev.close();
    }
}
