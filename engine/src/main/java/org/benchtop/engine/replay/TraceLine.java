package org.benchtop.engine.replay;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * One request of a trace that a drive of {@code type: trace} has recorded.
 *
 * @param startNanos when it was submitted, from the beginning of the trace
 * @param latencyNanos how long it took
 * @param queue which queue submitted it
 * @param kind what it was
 * @param offsetBytes where
 * @param lengthBytes how much
 */
public record TraceLine(long startNanos, long latencyNanos, int queue, Kind kind, long offsetBytes, long lengthBytes) {
    private static final String HEADER = "# benchtop block trace 1";
    /** Requests that ended so were mistakes of the guest: nothing to repeat. */
    private static final Set<String> REFUSED = Set.of("OUT_OF_RANGE", "READ_ONLY", "UNSUPPORTED");

    private static final int MAX_LINES = 20_000_000;
    private static final long MAX_LENGTH_BYTES = 1L << 40;

    /** What a request was. */
    public enum Kind {
        /** A read. */
        READ("read"),
        /** A write. */
        WRITE("write"),
        /** A write that was durable when it completed. */
        WRITE_FUA("write-fua"),
        /** A flush. */
        FLUSH("flush"),
        /** A discard. */
        DISCARD("discard"),
        /** Zeroes that stay allocated. */
        WRITE_ZEROES("write-zeroes"),
        /** Zeroes that may be deallocated. */
        WRITE_ZEROES_UNMAP("write-zeroes-unmap");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        /** Whether it changes the disk. */
        public boolean changes() {
            return this != READ && this != FLUSH;
        }

        static Optional<Kind> of(String word) {
            for (Kind kind : values()) {
                if (kind.word.equals(word)) {
                    return Optional.of(kind);
                }
            }
            return Optional.empty();
        }
    }

    /** Reads a whole trace, in the order in which its requests were submitted. */
    public static List<TraceLine> readAll(Path file) {
        List<TraceLine> lines = new ArrayList<>();
        try (BufferedReader reader = Files.newBufferedReader(file)) {
            String first = reader.readLine();
            if (first == null || !first.startsWith(HEADER)) {
                throw wrong(file, 1, "no trace: the first line is not \"" + HEADER + " …\"");
            }
            int number = 1;
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                number++;
                if (number > MAX_LINES) {
                    throw wrong(file, number, "more than " + MAX_LINES + " lines");
                }
                if (!line.startsWith("#") && !line.isBlank()) {
                    TraceLine parsed = parse(file, number, line);
                    if (!REFUSED.contains(line.substring(line.lastIndexOf(' ') + 1))) {
                        lines.add(parsed);
                    }
                }
            }
        } catch (NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": no such file", e);
        } catch (MalformedInputException e) {
            throw BenchtopException.of(ErrorKind.CONFIG, file + ": no trace: it is not text", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be read: " + e.getMessage(), e);
        }
        lines.sort(Comparator.comparingLong(TraceLine::startNanos));
        return lines;
    }

    private static TraceLine parse(Path file, int number, String line) {
        String[] words = line.split(" ", -1);
        if (words.length != 7) {
            throw wrong(file, number, words.length + " words instead of 7");
        }
        Kind kind = Kind.of(words[3]).orElseThrow(() -> wrong(file, number, "unknown request \"" + words[3] + "\""));
        try {
            TraceLine parsed = new TraceLine(
                    Long.parseLong(words[0]),
                    Long.parseLong(words[1]),
                    Integer.parseInt(words[2]),
                    kind,
                    Long.parseLong(words[4]),
                    Long.parseLong(words[5]));
            if (parsed.startNanos < 0
                    || parsed.offsetBytes < 0
                    || parsed.lengthBytes < 0
                    || parsed.lengthBytes > MAX_LENGTH_BYTES) {
                throw wrong(file, number, "a number out of range");
            }
            return parsed;
        } catch (NumberFormatException e) {
            throw wrong(file, number, "not a number where one is expected");
        }
    }

    private static BenchtopException wrong(Path file, int line, String what) {
        return BenchtopException.of(ErrorKind.CONFIG, file + ":" + line + ": " + what);
    }
}
