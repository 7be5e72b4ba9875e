package org.benchtop.notebook.kernel;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jshell.Snippet;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.SourceCodeAnalysis.Documentation;
import jdk.jshell.SourceCodeAnalysis.Suggestion;
import org.benchtop.notebook.wire.Json;

/** Answers questions about code: completions, documentation, whether it is complete. */
final class Questions {
    private static final Pattern MAGIC_NAME = Pattern.compile("(?:^|\\n)[ \\t]*(%{1,2}[\\w.-]*)$");
    private static final Pattern MAGIC_LINE = Pattern.compile("(?:^|\\n)[ \\t]*%([A-Za-z][\\w.-]*)[ \\t]+([^\\n]*)$");
    private static final Pattern MAGIC_CELL = Pattern.compile("\\A\\s*%%([A-Za-z][\\w.-]*)([^\\n]*)\\n");
    private static final int MAX_MATCHES = 500;
    private static final int INDENT = 4;

    private final Interpreter interpreter;
    private final Magics magics;

    Questions(Interpreter interpreter, Magics magics) {
        this.interpreter = interpreter;
        this.magics = magics;
    }

    private static int cursor(JsonObject request, String code) {
        int points = Json.integer(request, "cursor_pos", code.codePointCount(0, code.length()));
        return code.offsetByCodePoints(0, Math.clamp(points, 0, code.codePointCount(0, code.length())));
    }

    private static int points(String code, int at) {
        return code.codePointCount(0, Math.clamp(at, 0, code.length()));
    }

    /** Answers a {@code complete_request}. */
    JsonObject complete(JsonObject request) {
        String code = Json.string(request, "code").orElse("");
        int cursor = cursor(request, code);
        Magic.Completions found = completions(code, cursor);
        JsonArray matches = new JsonArray();
        JsonArray types = new JsonArray();
        found.matches().stream().limit(MAX_MATCHES).forEach(match -> {
            matches.add(match);
            types.add(Json.object(
                    "start",
                    points(code, found.start()),
                    "end",
                    points(code, cursor),
                    "text",
                    match,
                    "type",
                    match.endsWith("(") || match.endsWith("()") ? "function" : ""));
        });
        return Json.object(
                "status", "ok",
                "matches", matches,
                "cursor_start", points(code, found.start()),
                "cursor_end", points(code, cursor),
                "metadata", Json.object("_jupyter_types_experimental", types));
    }

    private Magic.Completions completions(String code, int cursor) {
        String before = code.substring(0, cursor);
        Matcher name = MAGIC_NAME.matcher(before);
        if (name.find()) {
            String typed = name.group(1);
            boolean first = before.isBlank() || before.stripLeading().equals(typed);
            List<String> matches = magics.names().stream()
                    .filter(known -> known.startsWith(typed) && (first || !known.startsWith("%%")))
                    .toList();
            return new Magic.Completions(name.start(1), matches);
        }
        Matcher cell = MAGIC_CELL.matcher(before);
        if (cell.find()) {
            int bodyStart = cell.end();
            Optional<Magic> magic = magics.find(cell.group(1), true);
            if (magic.isPresent() && !magic.get().name().equals("time")) {
                return magic.get()
                        .complete(code.substring(bodyStart), cursor - bodyStart)
                        .map(found -> new Magic.Completions(found.start() + bodyStart, found.matches()))
                        .orElse(new Magic.Completions(cursor, List.of()));
            }
            return java(code.substring(bodyStart), cursor - bodyStart, bodyStart);
        }
        Matcher line = MAGIC_LINE.matcher(before);
        if (line.find()) {
            int start = line.start(2);
            if (line.group(1).toLowerCase(Locale.ROOT).equals("time")) {
                return java(code.substring(start), cursor - start, start);
            }
            return magics.find(line.group(1), false)
                    .flatMap(
                            magic -> magic.complete(line.group(2), line.group(2).length()))
                    .map(found -> new Magic.Completions(found.start() + start, found.matches()))
                    .orElse(new Magic.Completions(cursor, List.of()));
        }
        return java(code, cursor, 0);
    }

    private Magic.Completions java(String code, int cursor, int shift) {
        try {
            return interpreter
                    .ask(() -> {
                        int skipped = declarationsBefore(code, cursor);
                        int[] anchor = {cursor - skipped};
                        List<Suggestion> suggestions = interpreter
                                .analysis()
                                .completionSuggestions(code.substring(skipped), cursor - skipped, anchor);
                        return new Magic.Completions(anchor[0] + skipped + shift, ordered(suggestions));
                    })
                    .orElse(new Magic.Completions(cursor + shift, List.of()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Magic.Completions(cursor + shift, List.of());
        }
    }

    /** What fits the expected type first, then by name; names of our own machinery not at all. */
    private static List<String> ordered(List<Suggestion> suggestions) {
        Map<String, Boolean> unique = new LinkedHashMap<>();
        suggestions.stream()
                .sorted(java.util.Comparator.comparing((Suggestion suggestion) -> !suggestion.matchesType())
                        .thenComparing(Suggestion::continuation))
                .filter(suggestion -> !suggestion.continuation().startsWith("$"))
                .forEach(suggestion -> unique.put(suggestion.continuation(), true));
        return new ArrayList<>(unique.keySet());
    }

    /**
     * How much of a cell to leave out: JShell looks at one snippet, so imports and types in front of the statement at
     * the cursor would hide it, while statements in front of it give it its variables.
     */
    private int declarationsBefore(String code, int cursor) {
        int skip = 0;
        int at = 0;
        String rest = code.substring(0, cursor);
        while (!rest.isBlank()) {
            CompletionInfo info = interpreter.analysis().analyzeCompletion(rest);
            if (!info.completeness().isComplete() || info.remaining().length() == rest.length()) {
                break;
            }
            at += rest.length() - info.remaining().length();
            List<Snippet> snippets = interpreter.analysis().sourceToSnippets(info.source());
            boolean declares = snippets.stream()
                    .anyMatch(snippet -> snippet.kind() == Snippet.Kind.IMPORT
                            || snippet.kind() == Snippet.Kind.TYPE_DECL
                            || snippet.kind() == Snippet.Kind.METHOD);
            if (declares && at <= cursor && !info.remaining().isEmpty()) {
                skip = at;
            }
            rest = info.remaining();
        }
        return skip;
    }

    /** Answers an {@code inspect_request}. */
    JsonObject inspect(JsonObject request) {
        String code = Json.string(request, "code").orElse("");
        int cursor = cursor(request, code);
        Optional<String> magic = magicHelp(code, cursor);
        Optional<String> text = magic.isPresent() ? magic : documentation(code, cursor);
        JsonObject data = new JsonObject();
        text.ifPresent(found -> {
            data.addProperty("text/plain", found);
            data.addProperty("text/html", "<pre>" + org.benchtop.bench.chart.Markup.escape(found) + "</pre>");
        });
        return Json.object("status", "ok", "found", text.isPresent(), "data", data, "metadata", new JsonObject());
    }

    private Optional<String> magicHelp(String code, int cursor) {
        int lineStart = code.lastIndexOf('\n', Math.max(0, cursor - 1)) + 1;
        Matcher matcher = Pattern.compile("[ \\t]*(%{1,2})([A-Za-z][\\w.-]*)")
                .matcher(code.substring(Math.min(lineStart, code.length())));
        if (!matcher.lookingAt() || cursor - lineStart > matcher.end()) {
            return Optional.empty();
        }
        return magics.find(matcher.group(2), matcher.group(1).length() == 2)
                .map(magic -> magic.usage() + "\n\n" + magic.summary());
    }

    private Optional<String> documentation(String code, int cursor) {
        try {
            return interpreter
                    .askForDocumentation(() -> {
                        int skipped = declarationsBefore(code, cursor);
                        String text = code.substring(skipped);
                        List<Documentation> found = List.of();
                        // On a name the whole name counts; inside of parentheses the method that is being called.
                        for (int at : List.of(nameEnd(text, cursor - skipped), cursor - skipped)) {
                            if (found.isEmpty()) {
                                found = interpreter.analysis().documentation(text.substring(0, at), at, true);
                            }
                        }
                        return JavadocText.of(found, JavadocText.DEFAULT_ENTRIES);
                    })
                    .filter(text -> !text.isBlank());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    private static int nameEnd(String text, int at) {
        int end = Math.clamp(at, 0, text.length());
        while (end < text.length() && Character.isJavaIdentifierPart(text.charAt(end))) {
            end++;
        }
        if (end < text.length() && text.charAt(end) == '(') {
            end++;
        }
        return end;
    }

    /** Answers an {@code is_complete_request}. */
    JsonObject isComplete(JsonObject request) {
        String code = Json.string(request, "code").orElse("");
        if (MAGIC_CELL.matcher(code + "\n").find()) {
            boolean ended = code.endsWith("\n");
            return ended ? Json.object("status", "complete") : Json.object("status", "incomplete", "indent", "");
        }
        try {
            return interpreter.ask(() -> completeness(code)).orElse(Json.object("status", "unknown"));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Json.object("status", "unknown");
        }
    }

    private JsonObject completeness(String code) {
        List<CellParser.Part> parts = CellParser.parse(code, interpreter::complete);
        if (parts.isEmpty() || !(parts.getLast() instanceof CellParser.Java java)) {
            return Json.object("status", "complete");
        }
        String rest = java.code();
        while (!rest.isBlank()) {
            CompletionInfo info = interpreter.analysis().analyzeCompletion(rest);
            SourceCodeAnalysis.Completeness completeness = info.completeness();
            if (completeness == SourceCodeAnalysis.Completeness.DEFINITELY_INCOMPLETE
                    || completeness == SourceCodeAnalysis.Completeness.CONSIDERED_INCOMPLETE) {
                return Json.object("status", "incomplete", "indent", indent(code));
            }
            if (completeness == SourceCodeAnalysis.Completeness.UNKNOWN) {
                return Json.object("status", "invalid");
            }
            if (info.remaining().length() == rest.length()) {
                break;
            }
            rest = info.remaining();
        }
        return Json.object("status", "complete");
    }

    private static String indent(String code) {
        String line = code.substring(code.lastIndexOf('\n') + 1);
        String indent = line.substring(0, line.length() - line.stripLeading().length());
        String end = line.stripTrailing();
        return end.endsWith("{") || end.endsWith("(") ? indent + " ".repeat(INDENT) : indent;
    }
}
