package org.benchtop.shell.lab;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineState;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.chardev.ConsoleBuffer;

/**
 * A guest's serial console. {@link #read} and {@link #expect} go through the output once, each from where the one before
 * stopped; {@link #transcript} shows all of it. Thread-safe; two readers share one position.
 */
public final class VmConsole {
    /** How long {@link #expect(String)} waits. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

    private static final Duration SLICE = Duration.ofMillis(50);
    private static final int TAIL = 200;

    private final Machine machine;
    private final String name;
    private final ConsoleBuffer buffer;
    private final Object lock = new Object();
    private long position;

    VmConsole(Machine machine, String name, ConsoleBuffer buffer) {
        this.machine = machine;
        this.name = name;
        this.buffer = buffer;
    }

    /**
     * What {@link VmConsole#expect} has found.
     *
     * @param before output between the position before and the match
     * @param text the match
     * @param groups its groups, the first one at index 0; an absent group is empty
     */
    public record Match(String before, String text, List<String> groups) {
        public Match {
            groups = List.copyOf(groups);
        }

        /** A group of the expression, counted from 1. */
        public String group(int number) {
            return groups.get(number - 1);
        }

        /** The match. */
        @Override
        public String toString() {
            return text;
        }
    }

    /** The name of the chardev. */
    public String name() {
        return name;
    }

    /** New output since the last {@link #read} or {@link #expect}; empty if there is none. Does not wait. */
    public String read() {
        synchronized (lock) {
            byte[] bytes = buffer.read(position, Integer.MAX_VALUE);
            position = Math.max(position, buffer.start()) + bytes.length;
            return utf8(bytes);
        }
    }

    /** All output that is kept (the newest MiB by default); also after the machine was closed. */
    public String transcript() {
        return utf8(buffer.read(0, Integer.MAX_VALUE));
    }

    /** The last lines of the output. */
    public String tail(int lines) {
        String[] all = transcript().split("\n", -1);
        int end = all.length > 0 && all[all.length - 1].isEmpty() ? all.length - 1 : all.length;
        return String.join("\n", List.of(all).subList(Math.max(0, end - lines), end));
    }

    /** {@link #expect(String, Duration)} with {@link #DEFAULT_TIMEOUT}. */
    public Match expect(String regex) throws InterruptedException {
        return expect(regex, DEFAULT_TIMEOUT);
    }

    /**
     * Waits for output that matches; the next call looks behind the match.
     *
     * @param regex a regular expression, found anywhere in new output; {@code ^} and {@code $} match at lines
     * @param timeout how long at most
     * @throws BenchtopException of kind GUEST, with the end of the output, if the time was up or the machine has stopped
     *     without such output
     */
    public Match expect(String regex, Duration timeout) throws InterruptedException {
        Pattern pattern = compile(regex);
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            boolean over = machine.exit().isPresent() || machine.state() == MachineState.CLOSED;
            long end;
            synchronized (lock) {
                long from = Math.max(position, buffer.start());
                String text = buffer.text(from);
                end = from + text.length();
                Matcher matcher = pattern.matcher(text);
                if (matcher.find()) {
                    position = from + matcher.end();
                    return match(text, matcher);
                }
            }
            if (over) {
                throw missed(
                        regex,
                        "the machine has stopped ("
                                + machine.exit().map(exit -> exit.describe()).orElse("closed") + ")");
            }
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw missed(regex, "not within " + Units.formatNanos(timeout.toNanos()));
            }
            long unused = buffer.awaitOutput(end, left < SLICE.toNanos() ? Duration.ofNanos(left) : SLICE);
        }
    }

    private static Pattern compile(String regex) {
        try {
            return Pattern.compile(latin(regex), Pattern.MULTILINE);
        } catch (PatternSyntaxException e) {
            throw BenchtopException.of(
                    ErrorKind.CONFIG,
                    "expect: not a regular expression: " + e.getDescription() + " at index " + e.getIndex() + " of "
                            + oneLine(regex),
                    e);
        }
    }

    private static Match match(String text, Matcher matcher) {
        List<String> groups = new ArrayList<>();
        for (int i = 1; i <= matcher.groupCount(); i++) {
            String group = matcher.group(i);
            groups.add(group == null ? "" : unlatin(group));
        }
        return new Match(unlatin(text.substring(0, matcher.start())), unlatin(matcher.group()), groups);
    }

    private BenchtopException missed(String regex, String why) {
        String all = transcript();
        String tail = all.substring(Math.max(0, all.length() - TAIL));
        return BenchtopException.of(
                ErrorKind.GUEST,
                "console " + name + " of " + machine.name() + ": no output matches \"" + oneLine(regex) + "\": " + why
                        + (tail.isEmpty() ? "; there is no output" : "; output ends with \"" + oneLine(tail) + "\""));
    }

    private static String oneLine(String text) {
        StringBuilder line = new StringBuilder();
        text.chars().forEach(c -> {
            switch (c) {
                case '\n' -> line.append("\\n");
                case '\r' -> line.append("\\r");
                case '\t' -> line.append("\\t");
                default -> {
                    if (c < ' ' || c == 0x7f) {
                        line.append(String.format("\\x%02x", c));
                    } else {
                        line.append((char) c);
                    }
                }
            }
        });
        return line.toString();
    }

    /** Types text as UTF-8; the guest takes it as fast as it reads. */
    public VmConsole send(String text) {
        return machine.whileOpen(() -> {
            buffer.send(text.getBytes(StandardCharsets.UTF_8));
            return this;
        });
    }

    /** Types text and a carriage return, as the Enter key does. */
    public VmConsole sendLine(String text) {
        return send(text + "\r");
    }

    /** Sends a break condition. */
    public VmConsole sendBreak() {
        return machine.whileOpen(() -> {
            buffer.sendBreak();
            return this;
        });
    }

    /** Calls back after each change of the output, on a thread that must not be held up; closing it ends that. */
    public AutoCloseable onOutput(Runnable listener) {
        return buffer.onOutput(listener);
    }

    // Positions are bytes, so matching works on one character per byte.
    private static String latin(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
    }

    private static String unlatin(String text) {
        return utf8(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static String utf8(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** The transcript. */
    @Override
    public String toString() {
        return transcript();
    }
}
