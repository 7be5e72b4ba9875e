package org.benchtop.pc.legacy;

/**
 * One 8259A interrupt controller (Intel 231468). It knows no bus and no partner: a pair is wired up by its owner. Not
 * thread-safe.
 */
final class Pic8259 {
    private static final int INPUTS = 8;
    private static final int SPURIOUS = 7;

    private static final int ICW1 = 0x10;
    private static final int ICW1_LEVEL = 0x08;
    private static final int ICW1_SINGLE = 0x02;
    private static final int ICW1_NEEDS_ICW4 = 0x01;
    private static final int ICW4_SPECIAL_FULLY_NESTED = 0x10;
    private static final int ICW4_AUTO_EOI = 0x02;
    private static final int OCW3 = 0x08;
    private static final int OCW3_POLL = 0x04;
    private static final int OCW3_READ = 0x02;
    private static final int OCW3_READ_ISR = 0x01;
    private static final int OCW3_MASK_MODE = 0x40;
    private static final int OCW3_SPECIAL_MASK = 0x20;
    private static final int OCW2_ROTATE = 0x80;
    private static final int OCW2_SPECIFIC = 0x40;
    private static final int OCW2_EOI = 0x20;

    /** Which inputs are level-triggered by the edge/level register. */
    private int edgeLevel;

    private int lines;
    private int requests;
    private int inService;
    private int mask;
    private int vectorBase;
    /** 0 when initialised, otherwise the number of the initialisation word that comes next. */
    private int nextWord;

    private boolean allLevel;
    private boolean needsWord4;
    private boolean single;
    private boolean autoEoi;
    private boolean rotateOnAutoEoi;
    private boolean specialFullyNested;
    private boolean specialMask;
    private boolean poll;
    private boolean readInService;
    /** The input of highest priority. */
    private int first;

    /** Power-on state; the inputs keep their levels. */
    void reset() {
        allLevel = false;
        edgeLevel = 0;
        specialFullyNested = false;
        vectorBase = 0;
        nextWord = 0;
        initialise();
    }

    /** What ICW1 does by itself (231468, ICW1). */
    private void initialise() {
        inService = 0;
        mask = 0;
        first = 0;
        autoEoi = false;
        rotateOnAutoEoi = false;
        specialMask = false;
        readInService = false;
        poll = false;
        // The edge detectors are cleared: an input must go low before it can interrupt again.
        requests = lines & levelMask();
    }

    private int levelMask() {
        return allLevel ? 0xff : edgeLevel;
    }

    /** An input's level. */
    void input(int number, boolean asserted) {
        int bit = 1 << number;
        if (asserted) {
            if ((lines & bit) == 0 || (levelMask() & bit) != 0) {
                requests |= bit;
            }
            lines |= bit;
        } else {
            lines &= ~bit;
            if ((levelMask() & bit) != 0) {
                requests &= ~bit;
            }
        }
    }

    void edgeLevel(int value) {
        edgeLevel = value & 0xff;
        requests = requests & ~edgeLevel | lines & edgeLevel;
    }

    private int rank(int number) {
        return number - first & INPUTS - 1;
    }

    /** The input of highest priority among some, or -1. */
    private int highest(int inputs) {
        int rotated = (inputs >>> first | inputs << INPUTS - first) & 0xff;
        return rotated == 0 ? -1 : Integer.numberOfTrailingZeros(rotated) + first & INPUTS - 1;
    }

    /** The input that INTR stands for, or -1. {@code cascades} are inputs behind which another controller sits. */
    int pending(int cascades) {
        if (nextWord != 0) {
            return -1;
        }
        int candidate = highest(requests & ~mask);
        if (candidate < 0) {
            return -1;
        }
        int blocking = specialMask ? inService & ~mask : inService;
        if (specialFullyNested) {
            // A partner's further requests pass while an earlier one is in service.
            blocking &= ~(cascades & 1 << candidate);
        }
        int serving = highest(blocking);
        return serving < 0 || rank(candidate) < rank(serving) ? candidate : -1;
    }

    /** The INTA cycle for {@link #pending}'s input. */
    void acknowledge(int number) {
        int bit = 1 << number;
        if ((levelMask() & bit) == 0) {
            requests &= ~bit;
        }
        if (autoEoi) {
            if (rotateOnAutoEoi) {
                first = number + 1 & INPUTS - 1;
            }
        } else {
            inService |= bit;
        }
    }

    int vector(int number) {
        return vectorBase | number;
    }

    int spuriousVector() {
        return vectorBase | SPURIOUS;
    }

    /** A read of the command port (0) or the mask port (1). */
    int read(int port, int cascades) {
        if (poll) {
            poll = false;
            int number = pending(cascades);
            if (number < 0) {
                return SPURIOUS;
            }
            acknowledge(number);
            return 0x80 | number;
        }
        return peek(port);
    }

    int peek(int port) {
        if (port == 1) {
            return mask;
        }
        return readInService ? inService : requests;
    }

    void write(int port, int value) {
        if (port == 0) {
            if ((value & ICW1) != 0) {
                writeIcw1(value);
            } else if ((value & OCW3) != 0) {
                writeOcw3(value);
            } else {
                writeOcw2(value);
            }
            return;
        }
        switch (nextWord) {
            case 2 -> {
                vectorBase = value & 0xf8;
                nextWord = single ? needsWord4 ? 4 : 0 : 3;
            }
            case 3 -> nextWord = needsWord4 ? 4 : 0;
            case 4 -> {
                autoEoi = (value & ICW4_AUTO_EOI) != 0;
                specialFullyNested = (value & ICW4_SPECIAL_FULLY_NESTED) != 0;
                nextWord = 0;
            }
            default -> mask = value;
        }
    }

    private void writeIcw1(int value) {
        allLevel = (value & ICW1_LEVEL) != 0;
        single = (value & ICW1_SINGLE) != 0;
        needsWord4 = (value & ICW1_NEEDS_ICW4) != 0;
        specialFullyNested = false;
        initialise();
        nextWord = 2;
    }

    private void writeOcw3(int value) {
        if ((value & OCW3_POLL) != 0) {
            poll = true;
        }
        if ((value & OCW3_READ) != 0) {
            readInService = (value & OCW3_READ_ISR) != 0;
        }
        if ((value & OCW3_MASK_MODE) != 0) {
            specialMask = (value & OCW3_SPECIAL_MASK) != 0;
        }
    }

    /** Bits 7:5 are rotate, specific, EOI (231468, OCW2). */
    private void writeOcw2(int value) {
        boolean rotate = (value & OCW2_ROTATE) != 0;
        boolean specific = (value & OCW2_SPECIFIC) != 0;
        boolean eoi = (value & OCW2_EOI) != 0;
        int number = value & INPUTS - 1;
        if (!eoi) {
            if (specific) {
                // Without rotation this is "no operation".
                first = rotate ? number + 1 & INPUTS - 1 : first;
            } else {
                rotateOnAutoEoi = rotate;
            }
            return;
        }
        int ended = specific ? number : highest(specialMask ? inService & ~mask : inService);
        if (ended >= 0) {
            inService &= ~(1 << ended);
            if (rotate) {
                first = ended + 1 & INPUTS - 1;
            }
        }
    }

    int mask() {
        return mask;
    }

    int requests() {
        return requests;
    }

    int inService() {
        return inService;
    }

    /** Saved state of one controller. */
    record State(
            int lines,
            int edgeLevel,
            int requests,
            int inService,
            int mask,
            int vectorBase,
            int nextWord,
            boolean allLevel,
            boolean needsWord4,
            boolean single,
            boolean autoEoi,
            boolean rotateOnAutoEoi,
            boolean specialFullyNested,
            boolean specialMask,
            boolean poll,
            boolean readInService,
            int first) {}

    State save() {
        return new State(
                lines,
                edgeLevel,
                requests,
                inService,
                mask,
                vectorBase,
                nextWord,
                allLevel,
                needsWord4,
                single,
                autoEoi,
                rotateOnAutoEoi,
                specialFullyNested,
                specialMask,
                poll,
                readInService,
                first);
    }

    /** Sets what {@link #save} gave, the levels of the inputs included: their devices set them again without an edge. */
    void restore(State state) {
        lines = state.lines & 0xff;
        edgeLevel = state.edgeLevel & 0xff;
        requests = state.requests & 0xff;
        inService = state.inService & 0xff;
        mask = state.mask & 0xff;
        vectorBase = state.vectorBase & 0xf8;
        nextWord = state.nextWord >= 2 && state.nextWord <= 4 ? state.nextWord : 0;
        allLevel = state.allLevel;
        needsWord4 = state.needsWord4;
        single = state.single;
        autoEoi = state.autoEoi;
        rotateOnAutoEoi = state.rotateOnAutoEoi;
        specialFullyNested = state.specialFullyNested;
        specialMask = state.specialMask;
        poll = state.poll;
        readInService = state.readInService;
        first = state.first & INPUTS - 1;
    }
}
