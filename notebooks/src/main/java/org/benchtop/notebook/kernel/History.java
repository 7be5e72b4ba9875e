package org.benchtop.notebook.kernel;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.benchtop.notebook.wire.Json;

/** What was typed, in this session and, if a file is kept, in earlier ones. Thread-safe. */
public final class History {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");
    private static final int MAX_KEPT = 2000;

    private final Optional<Path> file;
    private final List<Entry> entries = new ArrayList<>();
    private int session;
    private boolean loaded;

    private record Entry(int session, int line, String source, String output) {}

    /**
     * A history.
     *
     * @param file where it is kept; empty to forget it at the end
     */
    public History(Optional<Path> file) {
        this.file = file;
    }

    /** The usual file: {@code $XDG_STATE_HOME/benchtop/notebook-history.jsonl}. */
    public static Path usualFile() {
        String state = Optional.ofNullable(System.getenv("XDG_STATE_HOME"))
                .filter(path -> !path.isBlank())
                .orElse(System.getProperty("user.home") + "/.local/state");
        return Path.of(state, "benchtop", "notebook-history.jsonl");
    }

    private void load() {
        if (loaded) {
            return;
        }
        loaded = true;
        int latest = 0;
        if (file.isPresent() && Files.isRegularFile(file.get())) {
            try {
                List<String> lines = Files.readAllLines(file.get());
                for (String line : lines.subList(Math.max(0, lines.size() - MAX_KEPT), lines.size())) {
                    JsonObject json = Json.parse(line.getBytes(StandardCharsets.UTF_8));
                    int of = Json.integer(json, "session", 0);
                    latest = Math.max(latest, of);
                    entries.add(new Entry(
                            of,
                            Json.integer(json, "line", 0),
                            Json.string(json, "source").orElse(""),
                            ""));
                }
            } catch (IOException | JsonParseException e) {
                LOG.log(Level.WARNING, file.get() + ": earlier history cannot be read: " + e.getMessage());
            }
        }
        session = latest + 1;
    }

    /** Remembers a cell. */
    synchronized void add(int line, String source, String output) {
        load();
        entries.add(new Entry(session, line, source, output));
        if (entries.size() > 2 * MAX_KEPT) {
            entries.subList(0, MAX_KEPT).clear();
        }
        if (file.isEmpty()) {
            return;
        }
        try {
            Files.createDirectories(Optional.ofNullable(file.get().getParent()).orElse(Path.of(".")));
            Files.writeString(
                    file.get(),
                    Json.GSON.toJson(Json.object("session", session, "line", line, "source", source)) + "\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "history is not kept: {0}", e.getMessage());
        }
    }

    /** Answers a {@code history_request}. */
    synchronized JsonObject answer(JsonObject request) {
        load();
        List<Entry> found = switch (Json.string(request, "hist_access_type").orElse("tail")) {
            case "range" -> range(request);
            case "search" -> search(request);
            default -> last(entries, Json.integer(request, "n", MAX_KEPT));
        };
        boolean withOutput = Json.bool(request, "output", false);
        JsonArray history = new JsonArray();
        for (Entry entry : found) {
            JsonArray item = new JsonArray();
            item.add(entry.session);
            item.add(entry.line);
            if (withOutput) {
                JsonArray pair = new JsonArray();
                pair.add(entry.source);
                pair.add(entry.output);
                item.add(pair);
            } else {
                item.add(entry.source);
            }
            history.add(item);
        }
        return Json.object("status", "ok", "history", history);
    }

    private static List<Entry> last(List<Entry> from, int count) {
        return from.subList(Math.max(0, from.size() - Math.max(0, count)), from.size());
    }

    private List<Entry> range(JsonObject request) {
        int asked = Json.integer(request, "session", 0);
        int wanted = asked <= 0 ? session + asked : asked;
        int start = Json.integer(request, "start", 0);
        int stop = Json.integer(request, "stop", Integer.MAX_VALUE);
        return entries.stream()
                .filter(entry -> entry.session == wanted && entry.line >= start && entry.line < stop)
                .toList();
    }

    private List<Entry> search(JsonObject request) {
        String glob = Json.string(request, "pattern").orElse("*");
        Pattern pattern = Pattern.compile(
                glob.chars()
                        .mapToObj(c -> c == '*' ? ".*" : c == '?' ? "." : Pattern.quote(Character.toString(c)))
                        .collect(Collectors.joining()),
                Pattern.DOTALL);
        List<Entry> found = entries.stream()
                .filter(entry -> pattern.matcher(entry.source).matches())
                .toList();
        if (Json.bool(request, "unique", false)) {
            Map<String, Entry> unique = new LinkedHashMap<>();
            for (Entry entry : found) {
                unique.remove(entry.source);
                unique.put(entry.source, entry);
            }
            found = List.copyOf(unique.values());
        }
        return last(found, Json.integer(request, "n", MAX_KEPT));
    }
}
