package org.benchtop.notebook.kernel;

import java.lang.System.Logger.Level;
import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import org.jspecify.annotations.Nullable;

/**
 * Lets JShell forget snippets that no later cell can refer to: statements that ran, declarations that were replaced or
 * dropped, mistakes. It would keep their text, wrapped in all imports, and their class files for ever, some 8 KiB each.
 *
 * <p>The last ones stay, because what they left running may still fail and be told by cell and line. JShell offers no way to
 * forget but its fields; without {@code --add-opens jdk.jshell/jdk.jshell=ALL-UNNAMED}, which the launcher passes, or in a
 * JDK with other fields, everything is kept as JShell does. For whoever holds the compiler.
 */
final class DeadSnippets {
    private static final System.Logger LOG = System.getLogger("org.benchtop.notebook");

    private final Deque<Snippet> dead = new ArrayDeque<>();
    private final int kept;
    private final BiConsumer<Snippet, Collection<String>> onForget;
    private final List<@Nullable Snippet> byIndex;
    private final Set<?> all;
    private final Map<String, Set<Integer>> dependencies;
    private final Map<String, ?> wraps;
    private final Map<String, ?> tracked;
    private final NavigableMap<String, ?> classFiles;
    private final Field key;
    private final Field index;
    private final Field wrap;
    private final Field members;
    private final Field simpleName;

    @SuppressWarnings("unchecked")
    private DeadSnippets(JShell shell, int kept, BiConsumer<Snippet, Collection<String>> onForget)
            throws ReflectiveOperationException {
        this.kept = kept;
        this.onForget = onForget;
        Object maps = content(shell, "maps");
        byIndex = (List<@Nullable Snippet>) content(maps, "keyIndexToSnippet");
        all = (Set<?>) content(maps, "snippets");
        dependencies = (Map<String, Set<Integer>>) content(maps, "dependencies");
        wraps = (Map<String, ?>) content(content(shell, "outerMap"), "classOuters");
        tracked = (Map<String, ?>) content(content(shell, "classTracker"), "map");
        classFiles = (NavigableMap<String, ?>)
                content(content(content(shell, "taskFactory"), "fileManager"), "classObjects");
        key = field(Snippet.class, "key");
        index = field(key.getType(), "index");
        wrap = field(Snippet.class, "outer");
        Class<?> classWrap = Class.forName("jdk.jshell.OuterSnippetsClassWrap", false, Snippet.class.getClassLoader());
        members = field(classWrap, "wrapToSnippet");
        simpleName = field(classWrap, "className");
    }

    /**
     * For a session of JShell; empty where its fields cannot be reached.
     *
     * @param kept how many stay
     * @param onForget told what was forgotten, and the names of its classes
     */
    static Optional<DeadSnippets> of(JShell shell, int kept, BiConsumer<Snippet, Collection<String>> onForget) {
        try {
            return Optional.of(new DeadSnippets(shell, kept, onForget));
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.log(Level.DEBUG, "JShell will keep every snippet", e);
            return Optional.empty();
        }
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private static Object content(Object of, String name) throws ReflectiveOperationException {
        return Objects.requireNonNull(field(of.getClass(), name).get(of), name);
    }

    /** Takes notice of a snippet that has just died; forgets those that have been dead for long. */
    void add(Snippet snippet) {
        dead.add(snippet);
        while (dead.size() > kept) {
            Snippet oldest = dead.remove();
            try {
                forget(oldest);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("fields of JShell are not accessible any more", e);
            }
        }
    }

    private void forget(Snippet snippet) throws ReflectiveOperationException {
        all.remove(snippet);
        int at = index.getInt(Objects.requireNonNull(key.get(snippet), "key"));
        // A declaration that replaced this one has the same index.
        if (at < byIndex.size() && byIndex.get(at) == snippet) {
            byIndex.set(at, null);
            dependencies.values().forEach(users -> users.remove(at));
        }
        List<String> names = new ArrayList<>();
        Object around = wrap.get(snippet);
        // Other snippets in the same class may be alive, as may one that has taken this one's class over.
        if (members.getDeclaringClass().isInstance(around)
                && members.get(around) instanceof Map<?, ?> snippets
                && snippets.size() == 1
                && simpleName.get(around) instanceof String name
                && wraps.get(name) == around) {
            wraps.remove(name);
            String full = "REPL." + name;
            names.add(full);
            names.addAll(classFiles.subMap(full + "$", full + "%").keySet());
        }
        names.forEach(classFiles::remove);
        names.forEach(tracked::remove);
        onForget.accept(snippet, names);
    }
}
