package org.benchtop.engine.config;

import java.util.ArrayList;
import java.util.List;

/** Collects mistakes so that a check can report all of them. Not thread-safe. */
public final class Problems {
    private static final int MAX_PROBLEMS = 100;

    private final List<ConfigProblem> list = new ArrayList<>();

    /** Adds a mistake; those after the hundredth are dropped. */
    public void add(ConfigProblem problem) {
        if (list.size() < MAX_PROBLEMS && !list.contains(problem)) {
            list.add(problem);
        }
    }

    /** Adds a mistake at a place. */
    public void add(SourcePosition position, String path, String message) {
        add(new ConfigProblem(position, path, message));
    }

    /** Adds a mistake at a value. */
    public void add(ConfigValue value, String message) {
        add(value.position(), value.path(), message);
    }

    /** Whether there are none. */
    public boolean isEmpty() {
        return list.isEmpty();
    }

    /** How many there are. */
    public int count() {
        return list.size();
    }

    /** All of them in the order in which they were found. */
    public List<ConfigProblem> all() {
        return List.copyOf(list);
    }

    /** Throws the first one, if there is any. */
    public void throwFirst() {
        if (!list.isEmpty()) {
            throw list.getFirst().exception();
        }
    }
}
