package org.benchtop.pc.legacy;

/**
 * An 8042 keyboard controller with a keyboard that nobody types on and no mouse. It knows no bus and is not thread-safe.
 *
 * <p>Commands as in the IBM PS/2 Hardware Interface Technical Reference, "Keyboard and Auxiliary Device Controller".
 */
final class KeyboardController {
    static final int STATUS_OBF = 0x01;
    static final int STATUS_SYS = 0x04;
    static final int STATUS_COMMAND = 0x08;
    static final int STATUS_UNLOCKED = 0x10;
    static final int STATUS_AUX = 0x20;
    static final int STATUS_TIMEOUT = 0x40;

    static final int CTR_KBDINT = 0x01;
    static final int CTR_AUXINT = 0x02;
    static final int CTR_SYS = 0x04;
    static final int CTR_KBDDIS = 0x10;
    static final int CTR_AUXDIS = 0x20;
    static final int CTR_XLATE = 0x40;

    private static final int CTR_WRITABLE = 0x77;
    private static final int OUTPUT_RESET = 0x01;
    private static final int OUTPUT_A20 = 0x02;
    private static final int QUEUE = 16;

    private static final int KBD_ACK = 0xfa;
    private static final int KBD_RESEND = 0xfe;
    private static final int KBD_SELF_TEST_PASSED = 0xaa;

    private final int[] responses = new int[QUEUE];
    private int responseCount;
    private final int[] keyboard = new int[QUEUE];
    private int keyboardCount;
    private int control;
    private int outputPort;
    private int pendingCommand;
    private int pendingKeyboard;
    private boolean lastWasCommand;
    private boolean resetRequested;

    KeyboardController() {
        reset();
    }

    void reset() {
        responseCount = 0;
        keyboardCount = 0;
        control = CTR_SYS | CTR_XLATE | CTR_KBDINT;
        outputPort = OUTPUT_RESET | OUTPUT_A20;
        pendingCommand = 0;
        pendingKeyboard = 0;
        lastWasCommand = false;
        resetRequested = false;
    }

    /** Whether a write has asked for a reset of the machine since the last call. */
    boolean takeResetRequest() {
        boolean taken = resetRequested;
        resetRequested = false;
        return taken;
    }

    /** The command byte: interrupt enables, disabled ports, translation. */
    int control() {
        return control;
    }

    boolean a20() {
        return (outputPort & OUTPUT_A20) != 0;
    }

    void a20(boolean on) {
        outputPort = on ? outputPort | OUTPUT_A20 : outputPort & ~OUTPUT_A20;
    }

    /** IRQ 1. */
    boolean keyboardInterrupt() {
        int next = nextOutput();
        return next >= 0 && (next >> 8 & STATUS_AUX) == 0 && (control & CTR_KBDINT) != 0;
    }

    /** IRQ 12. */
    boolean auxInterrupt() {
        int next = nextOutput();
        return next >= 0 && (next >> 8 & STATUS_AUX) != 0 && (control & CTR_AUXINT) != 0;
    }

    /** What port 0x60 would give: a byte and, above it, its status bits; -1 if the output buffer is empty. */
    private int nextOutput() {
        if (responseCount > 0) {
            return responses[0];
        }
        if (keyboardCount > 0 && (control & CTR_KBDDIS) == 0) {
            return keyboard[0];
        }
        return -1;
    }

    int readStatus() {
        int next = nextOutput();
        return STATUS_UNLOCKED
                | ((control & CTR_SYS) != 0 ? STATUS_SYS : 0)
                | (lastWasCommand ? STATUS_COMMAND : 0)
                | (next >= 0 ? STATUS_OBF | next >> 8 : 0);
    }

    int readData() {
        int next = nextOutput();
        if (next < 0) {
            return 0;
        }
        if (responseCount > 0) {
            responseCount--;
            System.arraycopy(responses, 1, responses, 0, responseCount);
        } else {
            keyboardCount--;
            System.arraycopy(keyboard, 1, keyboard, 0, keyboardCount);
        }
        return next & 0xff;
    }

    private void respond(int value, int statusBits) {
        if (responseCount < QUEUE) {
            responses[responseCount++] = value | statusBits << 8;
        }
    }

    private void fromKeyboard(int value) {
        if (keyboardCount < QUEUE) {
            keyboard[keyboardCount++] = value;
        }
    }

    void writeCommand(int command) {
        lastWasCommand = true;
        pendingCommand = 0;
        switch (command) {
            case 0x20 -> respond(control, 0);
            case 0x60, 0xd1, 0xd2, 0xd3, 0xd4 -> pendingCommand = command;
            case 0xa7 -> control |= CTR_AUXDIS;
            case 0xa8 -> control &= ~CTR_AUXDIS;
            // 1: the clock line of the second port is stuck low, as nothing is connected.
            case 0xa9 -> respond(0x01, 0);
            case 0xaa -> {
                responseCount = 0;
                keyboardCount = 0;
                control = CTR_SYS | CTR_KBDDIS | CTR_AUXDIS;
                respond(0x55, 0);
            }
            case 0xab -> respond(0x00, 0);
            case 0xad -> control |= CTR_KBDDIS;
            case 0xae -> control &= ~CTR_KBDDIS;
            case 0xc0 -> respond(0x80, 0);
            case 0xd0 -> {
                int next = nextOutput();
                boolean aux = next >= 0 && (next >> 8 & STATUS_AUX) != 0;
                respond(outputPort | (next >= 0 ? aux ? 0x20 : 0x10 : 0), 0);
            }
            case 0xdd -> a20(false);
            case 0xdf -> a20(true);
            case 0xe0 -> respond(0x00, 0);
            default -> {
                // F0 to FF pulse the output port's bits that are 0 in the command; bit 0 is the reset line.
                if (command >= 0xf0 && (command & 1) == 0) {
                    resetRequested = true;
                }
            }
        }
    }

    void writeData(int value) {
        lastWasCommand = false;
        int command = pendingCommand;
        pendingCommand = 0;
        switch (command) {
            case 0x60 -> control = value & CTR_WRITABLE;
            case 0xd1 -> {
                outputPort = value & OUTPUT_A20 | OUTPUT_RESET;
                if ((value & OUTPUT_RESET) == 0) {
                    resetRequested = true;
                }
            }
            case 0xd2 -> respond(value, 0);
            // Without a second port the loop command does not mark its answer as the second port's.
            case 0xd3 -> respond(value, 0);
            case 0xd4 -> respond(KBD_RESEND, STATUS_AUX | STATUS_TIMEOUT);
            default -> {
                control &= ~CTR_KBDDIS;
                keyboardCommand(value);
            }
        }
    }

    private void keyboardCommand(int value) {
        int command = pendingKeyboard;
        pendingKeyboard = 0;
        if (command != 0 && value < 0xed) {
            fromKeyboard(KBD_ACK);
            if (command == 0xf0 && value == 0) {
                fromKeyboard(0x02);
            }
            return;
        }
        switch (value) {
            case 0xed, 0xf0, 0xf3 -> {
                pendingKeyboard = value;
                fromKeyboard(KBD_ACK);
            }
            case 0xee -> fromKeyboard(0xee);
            case 0xf2 -> {
                fromKeyboard(KBD_ACK);
                fromKeyboard(0xab);
                fromKeyboard(0x83);
            }
            case 0xf4, 0xf5, 0xf6 -> fromKeyboard(KBD_ACK);
            case 0xff -> {
                keyboardCount = 0;
                fromKeyboard(KBD_ACK);
                fromKeyboard(KBD_SELF_TEST_PASSED);
            }
            default -> fromKeyboard(KBD_RESEND);
        }
    }

    /** Everything that survives a save. */
    record State(
            int[] responses,
            int[] keyboard,
            int control,
            int outputPort,
            int pendingCommand,
            int pendingKeyboard,
            boolean lastWasCommand) {}

    State save() {
        return new State(
                java.util.Arrays.copyOf(responses, responseCount),
                java.util.Arrays.copyOf(keyboard, keyboardCount),
                control,
                outputPort,
                pendingCommand,
                pendingKeyboard,
                lastWasCommand);
    }

    void restore(State state) {
        responseCount = copy(state.responses, responses);
        keyboardCount = copy(state.keyboard, keyboard);
        control = state.control & CTR_WRITABLE;
        outputPort = state.outputPort & OUTPUT_A20 | OUTPUT_RESET;
        pendingCommand = state.pendingCommand & 0xff;
        pendingKeyboard = state.pendingKeyboard & 0xff;
        lastWasCommand = state.lastWasCommand;
        resetRequested = false;
    }

    private static int copy(int[] from, int[] to) {
        int n = Math.min(from.length, to.length);
        System.arraycopy(from, 0, to, 0, n);
        return n;
    }
}
