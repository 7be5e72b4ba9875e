package org.benchtop.shell.qemu;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.BenchtopException;

/** Splits a command line as a POSIX shell does, without expanding anything (POSIX.1-2024, Shell 2.2). */
final class ShellWords {
    private ShellWords() {}

    static List<String> split(String line) {
        List<String> words = new ArrayList<>();
        StringBuilder word = new StringBuilder();
        boolean open = false;
        char quote = 0;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '\\' && quote != '\'') {
                if (++i >= line.length()) {
                    break;
                }
                char next = line.charAt(i);
                if (next == '\n') {
                    continue;
                }
                if (quote == '"' && "\"\\$`".indexOf(next) < 0) {
                    word.append(c);
                }
                word.append(next);
                open = true;
            } else if (quote != 0) {
                if (c == quote) {
                    quote = 0;
                } else {
                    word.append(c);
                }
            } else if (c == '\'' || c == '"') {
                quote = c;
                open = true;
            } else if (Character.isWhitespace(c)) {
                if (open) {
                    words.add(word.toString());
                    word.setLength(0);
                    open = false;
                }
            } else {
                word.append(c);
                open = true;
            }
        }
        if (quote != 0) {
            throw BenchtopException.config("command line: " + quote + " is not closed");
        }
        if (open) {
            words.add(word.toString());
        }
        return words;
    }
}
