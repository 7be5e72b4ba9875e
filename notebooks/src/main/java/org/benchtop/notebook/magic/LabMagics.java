package org.benchtop.notebook.magic;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.lang.model.SourceVersion;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineYaml;
import org.benchtop.engine.plugin.LoadedPlugin;
import org.benchtop.notebook.kernel.Magic;
import org.benchtop.notebook.kernel.MavenLibraries;
import org.benchtop.shell.lab.Lab;
import org.benchtop.shell.lab.Vm;
import org.benchtop.spi.BenchtopException;
import org.jspecify.annotations.Nullable;

/** The magics of the lab: machines from YAML, guest programs, plugins. */
final class LabMagics {
    private static final Pattern MAIN = Pattern.compile("\\bstatic\\s+(?:int|void)\\s+main\\s*\\(\\s*\\)");
    private static final Pattern IMPORT = Pattern.compile("(?m)^\\s*(import\\s[^;]*;)\\s*?$");

    private LabMagics() {}

    static List<Magic> all() {
        return List.of(new VmMagic(), new QemuMagic(), new GuestMagic(), new PluginMagic());
    }

    private static int newlines(String text) {
        return (int) text.chars().filter(c -> c == '\n').count();
    }

    /** The variable for a machine. */
    private static String variable(Magic.Call call, String magic) {
        List<String> words = call.words();
        if (words.size() > 1) {
            throw BenchtopException.config(magic + ": one name at most, got " + call.arguments());
        }
        String name = words.isEmpty() ? "vm" : words.getFirst();
        if (!SourceVersion.isName(name) || name.indexOf('.') >= 0) {
            throw BenchtopException.config(magic + ": \"" + name + "\" is not a name for a Java variable");
        }
        return name;
    }

    /** Makes a machine in the place of the open one of the same name, so that a cell can be run again. */
    private static Vm put(Magic.Call call, String name, MachineSpec spec) throws Exception {
        Lab.vms().stream().filter(open -> open.name().equals(spec.name())).forEach(Vm::close);
        Vm vm = Lab.machine(spec);
        try {
            call.define(name, Vm.class, vm);
        } catch (Exception e) {
            vm.close();
            throw e;
        }
        return vm;
    }

    /** {@code %%qemu [name]}. */
    private static final class QemuMagic implements Magic {
        @Override
        public String name() {
            return "qemu";
        }

        @Override
        public String usage() {
            return "%%qemu [name]";
        }

        @Override
        public String summary() {
            return "Make a machine from a QEMU command line and put it into a variable (default: vm).";
        }

        @Override
        public boolean takesCell() {
            return true;
        }

        @Override
        public Object run(Call call) throws Exception {
            String name = variable(call, "%%qemu");
            MachineSpec spec = Lab.qemu(call.body().replace("\\\n", " ").replace('\n', ' '));
            System.out.println(spec.toYaml().stripTrailing());
            return put(call, name, spec);
        }
    }

    /** {@code %%vm [name]}. */
    private static final class VmMagic implements Magic {
        private final YamlCompletion completion = new YamlCompletion(Lab::registry);

        @Override
        public String name() {
            return "vm";
        }

        @Override
        public String usage() {
            return "%%vm [name]";
        }

        @Override
        public String summary() {
            return "Make a machine from YAML and put it into a variable (default: vm); one that was there before is closed.";
        }

        @Override
        public boolean takesCell() {
            return true;
        }

        @Override
        public Object run(Call call) throws Exception {
            String name = variable(call, "%%vm");
            // Lines above the body count, so that the lines in messages are those of the cell.
            MachineSpec spec = MachineYaml.parse(
                            "\n".repeat(call.bodyLine()) + call.body(),
                            "cell",
                            Path.of("").toAbsolutePath(),
                            name,
                            variable -> Optional.ofNullable(System.getenv(variable)))
                    .spec();
            return put(call, name, spec);
        }

        @Override
        public Optional<Completions> complete(String text, int cursor) {
            return completion.complete(text, cursor);
        }
    }

    /** {@code %%guest name}. */
    private static final class GuestMagic implements Magic {
        @Override
        public String name() {
            return "guest";
        }

        @Override
        public String usage() {
            return "%%guest NAME";
        }

        @Override
        public String summary() {
            return "Compile Java to a guest program: static methods with a main(), or just what main() does.";
        }

        @Override
        public boolean takesCell() {
            return true;
        }

        @Override
        public @Nullable Object run(Call call) throws Exception {
            List<String> words = call.words();
            if (words.size() != 1 || !SourceVersion.isName(words.getFirst())) {
                throw BenchtopException.config("%%guest: name the program with one word, as in %%guest counter");
            }
            String name = words.getFirst();
            String type = "Guest" + name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
            // Imports stay outside of the class; their lines stay empty, so that lines in messages are the cell's.
            Matcher imports = IMPORT.matcher(call.body());
            StringBuilder members = new StringBuilder();
            while (imports.find()) {
                int before = newlines(call.body().substring(0, imports.start(1)));
                call.java(call.bodyLine() + before, imports.group(1));
                imports.appendReplacement(members, "\n".repeat(newlines(imports.group())));
            }
            imports.appendTail(members);
            // The class begins where the magic is written, so that its second line is the first of the body.
            String begin = "class " + type + " {";
            String code = MAIN.matcher(members).find()
                    ? begin + "\n" + members + "\n}"
                    : begin + " static " + (members.indexOf("return ") >= 0 ? "int" : "void") + " main() {\n" + members
                            + "\n}}";
            call.java(call.bodyLine() - 1, code);
            return call.java("org.benchtop.shell.lab.GuestCode " + name + " = org.benchtop.shell.lab.Lab.guest(\""
                            + name + "\", " + type + ".class, \"main\"); " + name)
                    .orElse(null);
        }
    }

    /** {@code %plugin jar-or-coordinates}. */
    private static final class PluginMagic implements Magic {
        @Override
        public String name() {
            return "plugin";
        }

        @Override
        public String usage() {
            return "%plugin JAR-OR-COORDINATES…";
        }

        @Override
        public String summary() {
            return "Load plugins; machines that are made afterwards can use them.";
        }

        @Override
        public boolean takesCell() {
            return false;
        }

        @Override
        public Object run(Call call) throws Exception {
            if (call.words().isEmpty()) {
                throw BenchtopException.config("%plugin: name a jar, or a library as group:artifact:version");
            }
            List<String> lines = new ArrayList<>();
            for (String word : call.words()) {
                Path jar = MavenLibraries.isCoordinates(word) && !Files.exists(Path.of(word))
                        ? MavenLibraries.fetch(List.of(word)).getFirst()
                        : Path.of(word);
                try {
                    List<LoadedPlugin> loaded = Lab.plugin(jar);
                    lines.add(jar.getFileName() + ": "
                            + (loaded.isEmpty()
                                    ? "nothing new was loaded"
                                    : String.join(
                                            ", ",
                                            loaded.stream()
                                                    .map(LoadedPlugin::toString)
                                                    .toList())));
                } catch (BenchtopException e) {
                    // Named and skipped: others may still load.
                    System.err.println("skipped " + e.getMessage());
                }
            }
            return new org.dflib.jjava.jupyter.kernel.display.DisplayData(String.join("\n", lines));
        }
    }
}
