package org.benchtop.bench.run;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.benchtop.bench.measure.Measurement;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * The runs of one experiment, one JSON object a line, each on stable storage before the next run starts.
 *
 * <p>A line that was cut off by a crash is dropped when the journal is opened again; a damaged line in the middle is
 * refused. One process at a time holds a journal. Not thread-safe.
 */
public final class Journal implements AutoCloseable {
    private static final int FORMAT = 1;
    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .build();
    private static final DateTimeFormatter FILE_TIME =
            DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss-SSS").withZone(ZoneOffset.UTC);

    private final Path file;
    /** Not a channel: an interrupt of the thread that writes must not close it. */
    private final RandomAccessFile content;

    private final FileLock lock;
    private final List<Session> sessions = new ArrayList<>();
    private final List<RunRecord> runs = new ArrayList<>();
    private boolean cutLineDropped;

    private Journal(Path file, RandomAccessFile content, FileLock lock) {
        this.file = file;
        this.content = content;
        this.lock = lock;
    }

    /**
     * Opens or creates a journal.
     *
     * @param experiment the experiment's id
     * @param hash of everything that figures depend on; runs of another hash are never mixed in
     * @param restart set an existing journal aside, under a name with the time, and start anew
     */
    public static Journal open(Path file, String experiment, String hash, boolean restart) {
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            Journal journal = lock(file, new RandomAccessFile(file.toFile(), "rw"));
            try {
                if (restart && journal.content.length() > 0) {
                    Path aside = file.resolveSibling("runs-" + FILE_TIME.format(Instant.now()) + ".jsonl");
                    Files.move(file, aside);
                    journal.close();
                    return open(file, experiment, hash, false);
                }
                journal.load(experiment, hash);
                return journal;
            } catch (RuntimeException | IOException e) {
                journal.close();
                throw e;
            }
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be used as a journal: " + e.getMessage(), e);
        }
    }

    private static Journal lock(Path file, RandomAccessFile content) throws IOException {
        try {
            FileLock lock = content.getChannel().tryLock();
            if (lock != null) {
                return new Journal(file, content, lock);
            }
        } catch (OverlappingFileLockException e) {
            // Held by this process: the same answer as for another one.
        }
        content.close();
        throw BenchtopException.host(file + ": another benchtop bench is writing to it; wait for it or use --out");
    }

    private void load(String experiment, String hash) throws IOException {
        byte[] bytes = new byte[Math.toIntExact(content.length())];
        content.readFully(bytes);
        int end = bytes.length;
        while (end > 0 && bytes[end - 1] != '\n') {
            end--;
        }
        if (end < bytes.length) {
            cutLineDropped = true;
            content.setLength(end);
            content.seek(end);
        }
        String text = new String(bytes, 0, end, StandardCharsets.UTF_8);
        if (text.isEmpty()) {
            ObjectNode header = JSON.createObjectNode();
            header.put("type", "experiment");
            header.put("format", FORMAT);
            header.put("experiment", experiment);
            header.put("hash", hash);
            append(header);
            return;
        }
        int number = 0;
        for (String line : text.split("\n")) {
            number++;
            try {
                read(number, JSON.readTree(line), experiment, hash);
            } catch (JsonProcessingException | IllegalArgumentException e) {
                throw BenchtopException.of(
                        ErrorKind.CONFIG,
                        file + ":" + number + ": damaged journal line; --restart sets the file aside and starts anew",
                        e);
            }
        }
    }

    private void read(int number, JsonNode line, String experiment, String hash) throws JsonProcessingException {
        if (number == 1) {
            checkHeader(line, experiment, hash);
            return;
        }
        switch (line.path("type").asText()) {
            case "session" -> {
                ((ObjectNode) line).remove("type");
                sessions.add(JSON.treeToValue(line, Session.class));
            }
            case "run" -> runs.add(run((ObjectNode) line));
            default -> throw new IllegalArgumentException("unknown line");
        }
    }

    private void checkHeader(JsonNode line, String experiment, String hash) {
        if (!line.path("type").asText().equals("experiment")) {
            throw BenchtopException.config(file + ":1: not a benchtop bench journal");
        }
        if (line.path("format").asInt() != FORMAT) {
            throw BenchtopException.config(
                    file + ":1: journal format " + line.path("format").asText() + ", this version writes format "
                            + FORMAT + "; use --restart or --out");
        }
        String otherId = line.path("experiment").asText();
        String otherHash = line.path("hash").asText();
        if (!otherId.equals(experiment) || !otherHash.equals(hash)) {
            throw BenchtopException.config(file + ": holds runs of "
                    + (otherId.equals(experiment) ? "a different version of " + experiment : otherId) + " (spec "
                    + otherHash + ", now " + hash + "): --restart sets them aside, --out DIR keeps both");
        }
    }

    private static RunRecord run(ObjectNode line) throws JsonProcessingException {
        Optional<Measurement> measurement = line.hasNonNull("measurement")
                ? Optional.of(JSON.treeToValue(line.get("measurement"), Measurement.class))
                : Optional.empty();
        List<String> flags = new ArrayList<>();
        line.path("flags").forEach(flag -> flags.add(flag.asText()));
        return new RunRecord(
                line.required("session").asInt(),
                line.required("case").asText(),
                line.required("block").asInt(),
                RunKind.valueOf(line.required("kind").asText()),
                line.required("startedMillis").asLong(),
                line.required("wallNanos").asLong(),
                measurement,
                line.path("failure").asText(""),
                JSON.treeToValue(line.required("load"), HostLoad.class),
                flags);
    }

    /** Starts a session. */
    Session startSession(long startedMillis, HostFacts host) {
        Session session = new Session(sessions.size() + 1, startedMillis, host);
        ObjectNode line = JSON.createObjectNode().put("type", "session");
        line.setAll((ObjectNode) JSON.valueToTree(session));
        append(line);
        sessions.add(session);
        return session;
    }

    /** Adds a run; when this returns it survives a crash of the host. */
    void add(RunRecord run) {
        ObjectNode line = JSON.createObjectNode();
        line.put("type", "run");
        line.put("session", run.session());
        line.put("case", run.caseId());
        line.put("block", run.block());
        line.put("kind", run.kind().name());
        line.put("startedMillis", run.startedMillis());
        line.put("wallNanos", run.wallNanos());
        run.measurement().ifPresent(measurement -> line.set("measurement", JSON.valueToTree(measurement)));
        if (!run.failure().isEmpty()) {
            line.put("failure", run.failure());
        }
        line.set("load", JSON.valueToTree(run.load()));
        line.set("flags", JSON.valueToTree(run.flags()));
        append(line);
        runs.add(run);
    }

    private void append(ObjectNode line) {
        try {
            content.write((JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8));
            content.getFD().sync();
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be written: " + e.getMessage(), e);
        }
    }

    /** The runs that were recorded so far, oldest first. */
    public List<RunRecord> runs() {
        return List.copyOf(runs);
    }

    /** The sessions so far, oldest first. */
    public List<Session> sessions() {
        return List.copyOf(sessions);
    }

    /** Whether the last line was cut off by a crash and has been dropped. */
    public boolean cutLineDropped() {
        return cutLineDropped;
    }

    @Override
    public void close() {
        try {
            lock.release();
            content.close();
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, file + ": cannot be closed: " + e.getMessage(), e);
        }
    }
}
