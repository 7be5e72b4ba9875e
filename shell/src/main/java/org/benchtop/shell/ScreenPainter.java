package org.benchtop.shell;

import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import org.benchtop.engine.Machine;
import org.benchtop.shell.lab.Screen;

/**
 * Shows a machine's display on the terminal and paints it again when it has changed; where nobody watches it prints what
 * the display shows at the end.
 */
final class ScreenPainter implements AutoCloseable {
    private static final long PERIOD_MILLIS = 50;
    private static final String CLEAR = "\u001b[2J";
    private static final String HOME = "\u001b[H";
    private static final String END_OF_LINE = "\u001b[0m\u001b[K\r\n";
    private static final String END_OF_SCREEN = "\u001b[0m\u001b[J";

    private final Machine machine;
    private final PrintWriter out;
    private final Optional<Thread> thread;
    private Optional<Screen> painted = Optional.empty();

    private ScreenPainter(Machine machine, PrintWriter out, boolean live) {
        this.machine = machine;
        this.out = out;
        this.thread = live
                ? Optional.of(
                        Thread.ofPlatform().daemon().name("benchtop-screen").start(this::watch))
                : Optional.empty();
    }

    /** Starts painting if the machine has a display; closing it shows the last picture. */
    static Optional<ScreenPainter> on(Machine machine, Terminal terminal, PrintWriter out) {
        boolean terminalIsTaken = machine.spec().chardevs().values().stream()
                .anyMatch(chardev -> chardev.type().equals("stdio"));
        return machine.screen().map(s -> new ScreenPainter(machine, out, terminal.out() && !terminalIsTaken));
    }

    private void watch() {
        try {
            while (true) {
                paint();
                Thread.sleep(PERIOD_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Optional<Screen> look() {
        return machine.screen().map(screen -> new Screen(machine.name(), screen.content()));
    }

    private void paint() {
        Optional<Screen> now = look();
        if (now.isEmpty() || now.equals(painted)) {
            return;
        }
        out.print(ansi(now.get(), painted.isEmpty()));
        out.flush();
        painted = now;
    }

    /** The screen for a terminal with 24-bit colours. */
    static String ansi(Screen screen, boolean first) {
        StringBuilder text = new StringBuilder(first ? CLEAR + HOME : HOME);
        for (List<Screen.Span> line : screen.spans()) {
            for (Screen.Span span : line) {
                text.append(colour(38, span.foreground()))
                        .append(colour(48, span.background()))
                        .append(span.text());
            }
            text.append(END_OF_LINE);
        }
        return text.append(END_OF_SCREEN).toString();
    }

    private static String colour(int kind, int rgb) {
        return "\u001b[" + kind + ";2;" + (rgb >> 16) + ";" + (rgb >> 8 & 0xff) + ";" + (rgb & 0xff) + "m";
    }

    /** Shows what the display shows at last; before the machine is closed. */
    @Override
    public void close() {
        thread.ifPresent(running -> {
            running.interrupt();
            try {
                running.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        if (thread.isPresent()) {
            paint();
            return;
        }
        look().map(Screen::text).filter(text -> !text.isEmpty()).ifPresent(text -> {
            out.println(text);
            out.flush();
        });
    }
}
