package org.benchtop.engine.config;

import java.util.Collection;
import java.util.Optional;
import java.util.TreeSet;

/** Finds what somebody probably meant. */
public final class Suggestions {
    private static final int MAX_WORD_LENGTH = 64;
    private static final int MAX_LISTED = 60;

    private Suggestions() {}

    /** The known name that is nearest to a wrong one, if one is near. */
    public static Optional<String> nearest(String wrong, Collection<String> known) {
        if (wrong.length() > MAX_WORD_LENGTH) {
            return Optional.empty();
        }
        int bestDistance = Math.max(1, wrong.length() / 3) + 1;
        Optional<String> best = Optional.empty();
        for (String candidate : new TreeSet<>(known)) {
            if (Math.abs(candidate.length() - wrong.length()) > bestDistance) {
                continue;
            }
            int distance = distance(wrong, candidate);
            // Of equally near names, one of the same length was more likely meant.
            boolean tie = distance == bestDistance
                    && best.isPresent()
                    && candidate.length() == wrong.length()
                    && best.get().length() != wrong.length();
            if (distance < bestDistance || tie) {
                bestDistance = distance;
                best = Optional.of(candidate);
            }
        }
        return best;
    }

    /** {@code  (did you mean "cache"?)}, or {@code  (known: a, b)} where nothing is near. */
    public static String hint(String wrong, Collection<String> known) {
        return nearest(wrong, known)
                .map(name -> " (did you mean \"" + name + "\"?)")
                .orElseGet(() -> known.isEmpty() ? " (there are none)" : " (known: " + list(known) + ")");
    }

    /** {@code  (did you mean "none"? allowed: none, writeback)}: both, for short lists of allowed values. */
    static String hintAndAllowed(String wrong, Collection<String> allowed) {
        return nearest(wrong, allowed)
                .map(name -> " (did you mean \"" + name + "\"? allowed: " + list(allowed) + ")")
                .orElseGet(() -> " (allowed: " + list(allowed) + ")");
    }

    /** The names, comma-separated, in their own order; a very long list is cut. */
    public static String list(Collection<String> names) {
        if (names.size() <= MAX_LISTED) {
            return String.join(", ", names);
        }
        return String.join(", ", names.stream().limit(MAX_LISTED).toList()) + ", …";
    }

    /** The optimal-string-alignment distance: insertions, deletions, replacements and swaps of neighbours. */
    static int distance(String a, String b) {
        int[] beforePrevious = new int[b.length() + 1];
        int[] previous = new int[b.length() + 1];
        int[] current = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            previous[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            current[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int cost = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                current[j] = Math.min(previous[j - 1] + cost, Math.min(previous[j], current[j - 1]) + 1);
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    current[j] = Math.min(current[j], beforePrevious[j - 2] + 1);
                }
            }
            int[] free = beforePrevious;
            beforePrevious = previous;
            previous = current;
            current = free;
        }
        return previous[b.length()];
    }
}
