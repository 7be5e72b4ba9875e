package org.benchtop.pc.legacy;

/**
 * One counter of an 8254 (Intel 231164). It knows no clock: its owner passes the time, in ticks of the counter's clock,
 * with every call. Nothing ticks; count and output are computed when somebody looks. Not thread-safe.
 */
final class PitCounter {
    static final long NEVER = Long.MAX_VALUE;

    private static final int ACCESS_LOW = 1;
    private static final int ACCESS_HIGH = 2;
    private static final int BINARY_MODULUS = 0x10000;
    private static final int BCD_MODULUS = 10_000;
    private static final int STATUS_OUT = 0x80;
    private static final int STATUS_NULL_COUNT = 0x40;

    private int mode;
    private int access;
    private boolean bcd;
    private boolean gate;

    /** Whether a count has been written since the control word. */
    private boolean loaded;
    /** Whether the counter counts: not while gated off, untriggered, or half-written in mode 0. */
    private boolean running;

    private int count;
    /** The tick from which the count runs down; while not running, how many ticks had passed. */
    private long start;

    /** In modes 2 and 3 a new count takes effect at the end of the period; 0 for none. */
    private int nextCount;

    private long nextCountAt;

    private boolean writeHigh;
    private int writtenLow;
    private boolean readHigh;
    private boolean countLatched;
    private int latchedCount;
    private boolean statusLatched;
    private int latchedStatus;

    /** As firmware leaves it: square waves of the longest period. */
    void reset(boolean gated, long tick) {
        gate = gated;
        control(0x36, tick);
        load(BINARY_MODULUS, tick);
    }

    private int modulus() {
        return bcd ? BCD_MODULUS : BINARY_MODULUS;
    }

    /** A control word for this counter, not a latch command. */
    void control(int value, long tick) {
        access = value >> 4 & 3;
        int selected = value >> 1 & 7;
        mode = selected > 5 ? selected - 4 : selected;
        bcd = (value & 1) != 0;
        loaded = false;
        running = false;
        start = 0;
        count = modulus();
        nextCount = 0;
        writeHigh = false;
        readHigh = false;
        countLatched = false;
        statusLatched = false;
    }

    private long elapsed(long tick) {
        return running ? Math.max(0, tick - start) : start;
    }

    /** Lets a waiting count take effect once the period is over. */
    private void settle(long tick) {
        if (nextCount != 0 && running && tick >= nextCountAt) {
            count = nextCount;
            start = nextCountAt;
            nextCount = 0;
        }
    }

    private boolean periodic() {
        return mode == 2 || mode == 3;
    }

    private boolean triggered() {
        return mode == 1 || mode == 5;
    }

    private void load(int value, long tick) {
        settle(tick);
        if (periodic() && loaded && running) {
            nextCount = value;
            nextCountAt = start + (elapsed(tick) / count + 1) * count;
            return;
        }
        count = value;
        nextCount = 0;
        if (triggered()) {
            // The count is used from the next trigger on; a pulse that is under way goes on.
            if (!loaded) {
                running = false;
                start = Long.MAX_VALUE / 2;
            }
        } else {
            running = gate;
            start = gate ? tick : 0;
        }
        loaded = true;
    }

    /** A write to the counter's port. */
    void write(int value, long tick) {
        switch (access) {
            case ACCESS_LOW -> load(decoded(value), tick);
            case ACCESS_HIGH -> load(decoded(value << 8), tick);
            default -> {
                if (writeHigh) {
                    writeHigh = false;
                    load(decoded(value << 8 | writtenLow), tick);
                } else {
                    writtenLow = value;
                    writeHigh = true;
                    if (mode == 0 && running) {
                        start = elapsed(tick);
                        running = false;
                    }
                }
            }
        }
    }

    /** The number of ticks that a written value stands for: 0 is the longest. */
    private int decoded(int value) {
        if (!bcd) {
            return value == 0 ? BINARY_MODULUS : value;
        }
        int number = (value >> 12) * 1000 + (value >> 8 & 15) * 100 + (value >> 4 & 15) * 10 + (value & 15);
        return number == 0 ? BCD_MODULUS : Math.min(number, BCD_MODULUS);
    }

    private int encoded(int number) {
        if (!bcd) {
            return number & 0xffff;
        }
        int rest = number % BCD_MODULUS;
        return rest / 1000 << 12 | rest / 100 % 10 << 8 | rest / 10 % 10 << 4 | rest % 10;
    }

    /** The counting element as it would be read. */
    private int value(long tick) {
        settle(tick);
        long passed = elapsed(tick);
        if (!loaded || triggered() && passed >= Long.MAX_VALUE / 4) {
            return encoded(count);
        }
        if (mode == 2) {
            return encoded(count - (int) (passed % count));
        }
        if (mode == 3) {
            return encoded(count - (int) (2 * passed % count));
        }
        int modulus = modulus();
        return encoded((int) Math.floorMod(count - passed, (long) modulus));
    }

    /** The output. */
    boolean out(long tick) {
        settle(tick);
        if (!loaded) {
            return mode != 0;
        }
        long passed = elapsed(tick);
        return switch (mode) {
            case 0 -> passed >= count;
            case 1 -> passed >= count;
            case 2 -> !running || count > 1 && passed % count != count - 1;
            case 3 -> !running || passed % count < (count + 1) / 2;
            default -> passed != count;
        };
    }

    /** The first tick after {@code tick} at which the output goes up, or {@link #NEVER}. */
    long nextRise(long tick) {
        settle(tick);
        if (!loaded || !running) {
            return NEVER;
        }
        long passed = elapsed(tick);
        return switch (mode) {
            case 0, 1 -> passed < count ? start + count : NEVER;
            case 2, 3 -> {
                if (nextCount != 0) {
                    yield nextCountAt;
                }
                yield count > 1 ? start + (passed / count + 1) * count : NEVER;
            }
            default -> passed <= count ? start + count + 1 : NEVER;
        };
    }

    /** The gate input. */
    void gate(boolean level, long tick) {
        if (level == gate) {
            return;
        }
        settle(tick);
        gate = level;
        if (!loaded) {
            return;
        }
        if (triggered()) {
            if (level) {
                running = true;
                start = tick;
            }
            return;
        }
        if (level) {
            // Modes 0 and 4 go on where they stopped, 2 and 3 start a new period.
            start = periodic() ? tick : tick - start;
            if (periodic() && nextCount != 0) {
                count = nextCount;
                nextCount = 0;
            }
            running = true;
        } else {
            start = elapsed(tick);
            running = false;
        }
    }

    boolean gate() {
        return gate;
    }

    /** Keeps the count for the next reads; a count that is kept already stays. */
    void latchCount(long tick) {
        if (!countLatched) {
            countLatched = true;
            latchedCount = value(tick);
        }
    }

    /** Keeps the status for the next read (read-back command). */
    void latchStatus(long tick) {
        if (!statusLatched) {
            statusLatched = true;
            latchedStatus = (out(tick) ? STATUS_OUT : 0)
                    | (loaded && nextCount == 0 ? 0 : STATUS_NULL_COUNT)
                    | access << 4
                    | mode << 1
                    | (bcd ? 1 : 0);
        }
    }

    /** A read of the counter's port. */
    int read(long tick) {
        if (statusLatched) {
            statusLatched = false;
            return latchedStatus;
        }
        int whole = countLatched ? latchedCount : value(tick);
        return switch (access) {
            case ACCESS_LOW -> {
                countLatched = false;
                yield whole & 0xff;
            }
            case ACCESS_HIGH -> {
                countLatched = false;
                yield whole >> 8;
            }
            default -> {
                boolean high = readHigh;
                readHigh = !high;
                if (high) {
                    countLatched = false;
                }
                yield high ? whole >> 8 : whole & 0xff;
            }
        };
    }

    /** What {@link #read} would give, without its side effects. */
    int peek(long tick) {
        if (statusLatched) {
            return latchedStatus;
        }
        int whole = countLatched ? latchedCount : value(tick);
        boolean high = access == ACCESS_HIGH || access != ACCESS_LOW && readHigh;
        return high ? whole >> 8 : whole & 0xff;
    }

    String describe(long tick) {
        return "mode " + mode + ", " + (loaded ? "count " + count : "no count") + ", output "
                + (out(tick) ? "high" : "low");
    }

    /** Saved state; {@code passed} and {@code nextCountIn} are in ticks from now. */
    record State(
            int mode,
            int access,
            boolean bcd,
            boolean gate,
            boolean loaded,
            boolean running,
            int count,
            long passed,
            int nextCount,
            long nextCountIn,
            boolean writeHigh,
            int writtenLow,
            boolean readHigh,
            boolean countLatched,
            int latchedCount,
            boolean statusLatched,
            int latchedStatus) {}

    State save(long tick) {
        settle(tick);
        return new State(
                mode,
                access,
                bcd,
                gate,
                loaded,
                running,
                count,
                running ? tick - start : start,
                nextCount,
                nextCount == 0 ? 0 : nextCountAt - tick,
                writeHigh,
                writtenLow,
                readHigh,
                countLatched,
                latchedCount,
                statusLatched,
                latchedStatus);
    }

    void restore(State state, long tick) {
        mode = Math.clamp(state.mode, 0, 5);
        access = state.access & 3;
        bcd = state.bcd;
        gate = state.gate;
        loaded = state.loaded;
        running = state.running;
        count = Math.clamp(state.count, 1, modulus());
        start = running ? tick - state.passed : state.passed;
        nextCount = state.nextCount == 0 ? 0 : Math.clamp(state.nextCount, 1, modulus());
        nextCountAt = tick + state.nextCountIn;
        writeHigh = state.writeHigh;
        writtenLow = state.writtenLow & 0xff;
        readHigh = state.readHigh;
        countLatched = state.countLatched;
        latchedCount = state.latchedCount & 0xffff;
        statusLatched = state.statusLatched;
        latchedStatus = state.latchedStatus & 0xff;
    }
}
