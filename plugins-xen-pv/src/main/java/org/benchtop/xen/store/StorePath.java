package org.benchtop.xen.store;

import java.util.List;

/** Names in the tree: absolute or relative to a domain's own directory. */
final class StorePath {
    /** Longest absolute path. */
    static final int MAX_ABSOLUTE = 3072;
    /** Longest relative path. */
    static final int MAX_RELATIVE = 2048;

    private StorePath() {}

    static boolean relative(String path) {
        return !path.startsWith("/") && !path.startsWith("@");
    }

    /** The absolute form of a path, or an error if it is malformed. */
    static String absolute(String home, String path) throws StoreException {
        boolean relative = relative(path);
        if (path.isEmpty() || path.length() > (relative ? MAX_RELATIVE : MAX_ABSOLUTE)) {
            throw new StoreException(StoreError.EINVAL);
        }
        for (int i = 0; i < path.length(); i++) {
            char c = path.charAt(i);
            boolean fine = c >= '0' && c <= '9'
                    || c >= 'a' && c <= 'z'
                    || c >= 'A' && c <= 'Z'
                    || c == '-'
                    || c == '_'
                    || c == '@'
                    || c == ':'
                    || c == '/';
            if (!fine) {
                throw new StoreException(StoreError.EINVAL);
            }
        }
        if (path.contains("//") || path.length() > 1 && path.endsWith("/")) {
            throw new StoreException(StoreError.EINVAL);
        }
        String absolute = relative ? home + "/" + path : path;
        if (absolute.length() > MAX_ABSOLUTE) {
            throw new StoreException(StoreError.EINVAL);
        }
        return absolute;
    }

    /** The names from the root down. */
    static List<String> names(String absolute) {
        return absolute.equals("/") ? List.of() : List.of(absolute.substring(1).split("/", -1));
    }

    /** Whether a node is another or below it. */
    static boolean within(String ancestor, String path) {
        return path.equals(ancestor)
                || ancestor.equals("/") && path.startsWith("/")
                || path.startsWith(ancestor)
                        && path.length() > ancestor.length()
                        && path.charAt(ancestor.length()) == '/';
    }
}
