package org.benchtop.pc.chardev;

import java.nio.charset.StandardCharsets;

/**
 * The keys that a terminal user has besides the guest's: Ctrl-A followed by x (stop), r (resume), b (break), h (help) or Ctrl-A (a
 * literal Ctrl-A); with {@code signal}, also Ctrl-C (stop). Called on one loop only.
 */
final class TerminalKeys implements StreamChardev.InputFilter {
    private static final byte CTRL_A = 0x01;
    private static final byte CTRL_C = 0x03;
    private static final String HELP = """
            \r
            Ctrl-A x        stop the machine\r
            Ctrl-A r        resume the machine after an I/O error has stopped it\r
            Ctrl-A b        send a break to the guest\r
            Ctrl-A c        reserved for a monitor\r
            Ctrl-A h        this help\r
            Ctrl-A Ctrl-A   send Ctrl-A to the guest\r
            """;

    private final boolean signal;
    private final Runnable stop;
    private final Runnable resume;
    private Runnable sendBreak = () -> {};
    private java.util.function.Consumer<byte[]> show = text -> {};
    private boolean escape;

    TerminalKeys(boolean signal, Runnable stop, Runnable resume) {
        this.signal = signal;
        this.stop = stop;
        this.resume = resume;
    }

    @Override
    public void bind(FrontendLink link, OutputQueue output) {
        sendBreak = link::breakCondition;
        show = text -> output.put(text, 0, text.length);
    }

    @Override
    public int filter(byte[] buffer, int lengthBytes) {
        int kept = 0;
        for (int i = 0; i < lengthBytes; i++) {
            byte key = buffer[i];
            if (escape) {
                escape = false;
                if (command(key)) {
                    buffer[kept++] = key;
                }
            } else if (key == CTRL_A) {
                escape = true;
            } else if (signal && key == CTRL_C) {
                stop.run();
            } else {
                buffer[kept++] = key;
            }
        }
        return kept;
    }

    /** Acts on the key after Ctrl-A; true if the guest gets the key itself. */
    private boolean command(byte key) {
        switch (key) {
            case 'x', 'X' -> stop.run();
            case 'r', 'R' -> resume.run();
            case 'b', 'B' -> sendBreak.run();
            case 'h', 'H', '?' -> show.accept(HELP.getBytes(StandardCharsets.US_ASCII));
            case 'c', 'C' -> show.accept("\r\nthere is no monitor here\r\n".getBytes(StandardCharsets.US_ASCII));
            case CTRL_A -> {
                return true;
            }
            default -> {
                // Other keys end the escape and do nothing, so that a typing error cannot reach the guest.
            }
        }
        return false;
    }
}
