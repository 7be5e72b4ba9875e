package org.benchtop.shell.jshell;

import java.util.regex.Pattern;
import org.benchtop.spi.BenchtopException;

/** JShell wraps what is typed into generated classes, whose names mean nothing to whoever typed it. */
public final class SnippetNames {
    /** The source file of what was typed, in messages that do not know better. */
    public static final String SOURCE = "cell";

    private static final Pattern GENERATED = Pattern.compile("(?:REPL\\.)?\\$JShell\\$\\w+[.$]");

    private SnippetNames() {}

    /** Takes generated class names out of a text. */
    public static String plain(String text) {
        return GENERATED.matcher(text).replaceAll("");
    }

    /**
     * The message of an exception about typed code, such as that of a guest program, with the place that a front end knows
     * instead of the line within the snippet.
     */
    public static String placed(BenchtopException thrown, String place) {
        return SOURCE.equals(thrown.context().get("file"))
                ? thrown.getMessage()
                        .replace("(" + SOURCE + ":" + thrown.context().get("line") + ")", "(" + place + ")")
                : thrown.getMessage();
    }
}
