package org.benchtop.notebook.kernel;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.benchtop.bench.chart.Markup;
import org.benchtop.notebook.wire.Json;
import org.benchtop.spi.BenchtopException;
import org.dflib.jjava.jupyter.kernel.display.DisplayData;
import org.dflib.jjava.jupyter.kernel.display.mime.MIMEType;
import org.jspecify.annotations.Nullable;

/** The magics that need nothing but the kernel. */
final class CoreMagics {
    private CoreMagics() {}

    /** What a magic does. */
    private interface Body {
        @Nullable
        Object run(Magic.Call call) throws Exception;
    }

    private record Simple(String name, String usage, String summary, boolean takesCell, Body body) implements Magic {
        @Override
        public @Nullable Object run(Call call) throws Exception {
            return body.run(call);
        }
    }

    static List<Magic> all(Magics magics) {
        return List.of(
                new Simple("help", "%help [magic]", "What magics there are.", false, call -> help(magics, call)),
                new Simple("lsmagic", "%lsmagic", "What magics there are.", false, call -> help(magics, call)),
                new Simple("who", "%who", "The variables of this notebook.", false, CoreMagics::who),
                new Simple("time", "%time CODE", "Run Java and say how long it took.", false, CoreMagics::time),
                new Simple("time", "%%time", "Run the cell and say how long it took.", true, CoreMagics::time),
                new Simple(
                        "load",
                        "%load FILE",
                        "Run a script (.jsh, .java) or the code cells of a notebook (.ipynb).",
                        false,
                        CoreMagics::load),
                new Simple(
                        "classpath",
                        "%classpath [add] JAR-OR-FOLDER…",
                        "Add jars (also dir/*.jar) or folders of classes to what cells see.",
                        false,
                        call -> classPath(magics, call)),
                new Simple("jars", "%jars JAR…", "The same as %classpath.", false, call -> classPath(magics, call)),
                new Simple(
                        "maven",
                        "%maven GROUP:ARTIFACT:VERSION…",
                        "Fetch libraries with all they need and add them to what cells see.",
                        false,
                        call -> maven(magics, call)),
                new Simple(
                        "addMavenDependency",
                        "%addMavenDependency GROUP:ARTIFACT:VERSION…",
                        "The same as %maven.",
                        false,
                        call -> maven(magics, call)));
    }

    private static Object help(Magics magics, Magic.Call call) {
        String wanted = call.arguments().replace("%", "").strip().toLowerCase(Locale.ROOT);
        StringBuilder text = new StringBuilder();
        Markup html = new Markup().open("table").open("tbody");
        boolean any = false;
        for (Magic magic : magics.all()) {
            if (wanted.isEmpty() || magic.name().toLowerCase(Locale.ROOT).equals(wanted)) {
                text.append(String.format("%-42s %s%n", magic.usage(), magic.summary()));
                html.open("tr")
                        .open("td", "style", "text-align: left")
                        .element("code", magic.usage())
                        .close("td")
                        .element("td", magic.summary(), "style", "text-align: left")
                        .close("tr");
                any = true;
            }
        }
        if (!any) {
            throw BenchtopException.config(
                    "no magic is called \"" + wanted + "\"; there are " + String.join(", ", magics.names()));
        }
        DisplayData data = new DisplayData(text.toString().stripTrailing());
        data.putData(MIMEType.TEXT_HTML, html.close("tbody").close("table").toString());
        return data;
    }

    private static Object who(Magic.Call call) {
        List<Magic.Variable> variables = call.variables();
        if (variables.isEmpty()) {
            return new DisplayData("no variables yet");
        }
        StringBuilder text = new StringBuilder();
        Markup html = new Markup().open("table").open("thead").open("tr");
        for (String head : List.of("name", "type", "value")) {
            html.element("th", head, "style", "text-align: left");
        }
        html.close("tr").close("thead").open("tbody");
        for (Magic.Variable variable : variables) {
            text.append(String.format("%-16s %-30s %s%n", variable.name(), variable.type(), variable.value()));
            html.open("tr");
            for (String cell : List.of(variable.name(), variable.type(), variable.value())) {
                html.element("td", cell, "style", "text-align: left");
            }
            html.close("tr");
        }
        DisplayData data = new DisplayData(text.toString().stripTrailing());
        data.putData(MIMEType.TEXT_HTML, html.close("tbody").close("table").toString());
        return data;
    }

    private static @Nullable Object time(Magic.Call call) throws Exception {
        String code = call.body().isBlank() ? call.arguments() : call.body();
        if (code.isBlank()) {
            throw BenchtopException.config("%time: name some Java, as in %time vm.start()");
        }
        long start = System.nanoTime();
        Optional<Object> value = call.java(code);
        long elapsed = System.nanoTime() - start;
        System.err.println("time: " + duration(elapsed) + " (with compilation)");
        return value.orElse(null);
    }

    /** A duration with three digits and a fitting unit. */
    static String duration(long nanos) {
        if (nanos < 1_000_000) {
            return String.format(Locale.ROOT, "%.3g µs", nanos / 1e3);
        }
        return nanos < 1_000_000_000
                ? String.format(Locale.ROOT, "%.3g ms", nanos / 1e6)
                : String.format(Locale.ROOT, "%.2f s", nanos / 1e9);
    }

    private static @Nullable Object load(Magic.Call call) throws Exception {
        List<String> words = call.words();
        if (words.size() != 1) {
            throw BenchtopException.config("%load: name one file, got " + words.size());
        }
        Path file = Path.of(words.getFirst());
        String text = Magics.script(file);
        String name = String.valueOf(file.getFileName());
        if (!name.endsWith(".ipynb")) {
            return call.script(name, withoutCommands(text)).orElse(null);
        }
        Optional<Object> value = Optional.empty();
        int number = 0;
        for (String cell : codeCells(file, text)) {
            value = call.script(name + ", code cell " + ++number, cell);
        }
        return value.orElse(null);
    }

    /** A script without commands of the JShell tool, which only set how it looks; lines keep their numbers. */
    private static String withoutCommands(String script) {
        return script.replaceAll("(?m)^(?:/(?:set|exit)\\b.*|#!.*)$", "");
    }

    private static List<String> codeCells(Path file, String text) {
        try {
            List<String> cells = new ArrayList<>();
            Json.parse(text.getBytes(java.nio.charset.StandardCharsets.UTF_8))
                    .getAsJsonArray("cells")
                    .forEach(cell -> {
                        var object = cell.getAsJsonObject();
                        if (Json.string(object, "cell_type").orElse("").equals("code")) {
                            StringBuilder code = new StringBuilder();
                            var source = object.get("source");
                            if (source.isJsonArray()) {
                                source.getAsJsonArray().forEach(line -> code.append(line.getAsString()));
                            } else {
                                code.append(source.getAsString());
                            }
                            cells.add(code.toString());
                        }
                    });
            return cells;
        } catch (RuntimeException e) {
            throw BenchtopException.config(file + ": not a notebook: " + e.getMessage());
        }
    }

    private static Object classPath(Magics magics, Magic.Call call) throws Exception {
        List<String> words = new ArrayList<>(call.words());
        if (!words.isEmpty() && words.getFirst().equals("add")) {
            words.removeFirst();
        }
        if (words.isEmpty()) {
            throw BenchtopException.config("%classpath: name a jar, a folder of classes or dir/*.jar");
        }
        List<String> added = new ArrayList<>();
        for (String word : words) {
            for (String entry : word.split(File.pathSeparator)) {
                for (Path path : expand(entry)) {
                    call.addClassPath(path.toAbsolutePath().toString());
                    added.add(path.toString());
                }
            }
        }
        magics.installExtensions();
        return new DisplayData("added " + String.join(", ", added));
    }

    private static List<Path> expand(String entry) throws Exception {
        if (entry.endsWith("*") || entry.endsWith("*.jar")) {
            Path folder = Path.of(entry.substring(0, entry.lastIndexOf('*'))).toAbsolutePath();
            if (!Files.isDirectory(folder)) {
                throw BenchtopException.config(entry + ": no such folder");
            }
            try (Stream<Path> files = Files.list(folder)) {
                List<Path> jars = files.filter(file -> file.toString().endsWith(".jar"))
                        .sorted()
                        .toList();
                if (jars.isEmpty()) {
                    throw BenchtopException.config(entry + ": there are no jars");
                }
                return jars;
            }
        }
        Path path = Path.of(entry);
        if (!Files.exists(path)) {
            throw BenchtopException.config(entry + ": no such jar or folder");
        }
        return List.of(path);
    }

    private static Object maven(Magics magics, Magic.Call call) throws Exception {
        List<Path> jars = MavenLibraries.fetch(call.words());
        for (Path jar : jars) {
            call.addClassPath(jar.toString());
        }
        magics.installExtensions();
        return new DisplayData("added "
                + String.join(
                        ", ",
                        jars.stream()
                                .map(jar -> String.valueOf(jar.getFileName()))
                                .toList()));
    }
}
