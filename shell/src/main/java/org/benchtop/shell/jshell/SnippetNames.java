package org.benchtop.shell.jshell;

import java.util.regex.Pattern;

/** JShell wraps what is typed into generated classes, whose names mean nothing to whoever typed it. */
public final class SnippetNames {
    private static final Pattern GENERATED = Pattern.compile("(?:REPL\\.)?\\$JShell\\$\\w+[.$]");

    private SnippetNames() {}

    /** Takes generated class names out of a text. */
    public static String plain(String text) {
        return GENERATED.matcher(text).replaceAll("");
    }
}
