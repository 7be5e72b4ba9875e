package org.benchtop.scsi.target;

import java.util.Arrays;
import java.util.function.BiConsumer;

/**
 * Reservations of a logical unit: by RESERVE (SPC-2, 5.5.1) and persistent ones (SPC-4, 5.9). Guarded by the logical
 * unit's lock.
 */
final class Reservations {
    static final int WRITE_EXCLUSIVE = 1;
    static final int EXCLUSIVE_ACCESS = 3;
    static final int WRITE_EXCLUSIVE_REGISTRANTS = 5;
    static final int EXCLUSIVE_ACCESS_REGISTRANTS = 6;
    static final int WRITE_EXCLUSIVE_ALL = 7;
    static final int EXCLUSIVE_ACCESS_ALL = 8;

    private static final int NOBODY = -1;

    private final boolean[] registered = new boolean[LogicalUnit.INITIATORS];
    private final long[] keys = new long[LogicalUnit.INITIATORS];
    private int holder = NOBODY;
    private int type;
    private int generation;
    private int reservedBy = NOBODY;

    // RESERVE and RELEASE.

    /** Takes the logical unit; whether that worked. */
    boolean reserve(int initiator) {
        if (reservedBy != NOBODY && reservedBy != initiator) {
            return false;
        }
        reservedBy = initiator;
        return true;
    }

    void release(int initiator) {
        if (reservedBy == initiator) {
            reservedBy = NOBODY;
        }
    }

    /** A reset: persistent reservations stay. */
    void reset() {
        reservedBy = NOBODY;
    }

    /** Power loss: nothing stays, as no reservation is kept through it. */
    void powerOn() {
        reset();
        Arrays.fill(registered, false);
        Arrays.fill(keys, 0);
        holder = NOBODY;
        type = 0;
        generation = 0;
    }

    // Persistent reservations.

    boolean anyRegistered() {
        for (boolean one : registered) {
            if (one) {
                return true;
            }
        }
        return false;
    }

    boolean registered(int initiator) {
        return registered[initiator];
    }

    long key(int initiator) {
        return keys[initiator];
    }

    int generation() {
        return generation;
    }

    boolean reserved() {
        return type != 0;
    }

    int type() {
        return type;
    }

    private boolean allRegistrants() {
        return type == WRITE_EXCLUSIVE_ALL || type == EXCLUSIVE_ACCESS_ALL;
    }

    private boolean registrantsOnly() {
        return type == WRITE_EXCLUSIVE_REGISTRANTS || type == EXCLUSIVE_ACCESS_REGISTRANTS;
    }

    boolean holds(int initiator) {
        return type != 0 && (allRegistrants() ? registered[initiator] : holder == initiator);
    }

    /** The key that READ RESERVATION shows. */
    long holderKey() {
        return allRegistrants() || holder == NOBODY ? 0 : keys[holder];
    }

    static boolean validType(int type) {
        return switch (type) {
            case WRITE_EXCLUSIVE,
                    EXCLUSIVE_ACCESS,
                    WRITE_EXCLUSIVE_REGISTRANTS,
                    EXCLUSIVE_ACCESS_REGISTRANTS,
                    WRITE_EXCLUSIVE_ALL,
                    EXCLUSIVE_ACCESS_ALL -> true;
            default -> false;
        };
    }

    /** Whether a command of an initiator is refused. */
    boolean conflicts(Operation operation, byte[] cdb, int initiator) {
        Operation.Conflict conflict = operation.conflict();
        if (reservedBy != NOBODY && reservedBy != initiator && conflict != Operation.Conflict.NEVER) {
            return true;
        }
        boolean oldReserve = operation == Operation.RESERVE_6
                || operation == Operation.RESERVE_10
                || operation == Operation.RELEASE_6
                || operation == Operation.RELEASE_10;
        if (oldReserve && anyRegistered()) {
            return true;
        }
        if (type == 0 || holds(initiator) || registrantsOnly() && registered[initiator]) {
            return false;
        }
        boolean writeExclusive =
                type == WRITE_EXCLUSIVE || type == WRITE_EXCLUSIVE_REGISTRANTS || type == WRITE_EXCLUSIVE_ALL;
        return switch (conflict) {
            case NEVER, RESERVE_ONLY -> false;
            case READ -> !writeExclusive;
            case WRITE -> true;
        };
    }

    /**
     * Registers a key, changes it, or with key 0 takes it away.
     *
     * @param told called for initiators that get a unit attention, with it
     */
    void register(int initiator, long key, BiConsumer<Integer, Integer> told) {
        generation++;
        if (key == 0) {
            if (registered[initiator]) {
                unregister(initiator, told);
            }
            return;
        }
        registered[initiator] = true;
        keys[initiator] = key;
    }

    private void unregister(int initiator, BiConsumer<Integer, Integer> told) {
        boolean held = holds(initiator);
        registered[initiator] = false;
        keys[initiator] = 0;
        if (held && (!allRegistrants() || !anyRegistered())) {
            boolean tell = registrantsOnly();
            type = 0;
            holder = NOBODY;
            for (int i = 0; tell && i < registered.length; i++) {
                if (registered[i]) {
                    told.accept(i, Sense.RESERVATIONS_RELEASED);
                }
            }
        }
    }

    /** Makes a reservation; whether that worked. The initiator is registered. */
    boolean reserve(int initiator, int newType) {
        if (type != 0) {
            return holds(initiator) && type == newType;
        }
        type = newType;
        holder = initiator;
        return true;
    }

    /** Ends a reservation of the initiator; false if its type is another. */
    boolean release(int initiator, int ofType, BiConsumer<Integer, Integer> told) {
        if (type == 0 || !holds(initiator)) {
            return true;
        }
        if (type != ofType) {
            return false;
        }
        boolean tell = type != WRITE_EXCLUSIVE && type != EXCLUSIVE_ACCESS;
        type = 0;
        holder = NOBODY;
        for (int i = 0; tell && i < registered.length; i++) {
            if (registered[i] && i != initiator) {
                told.accept(i, Sense.RESERVATIONS_RELEASED);
            }
        }
        return true;
    }

    /** Takes away every key and the reservation. */
    void clear(int initiator, BiConsumer<Integer, Integer> told) {
        generation++;
        for (int i = 0; i < registered.length; i++) {
            if (registered[i] && i != initiator) {
                told.accept(i, Sense.RESERVATIONS_PREEMPTED);
            }
        }
        Arrays.fill(registered, false);
        Arrays.fill(keys, 0);
        type = 0;
        holder = NOBODY;
    }

    /** What became of PREEMPT. */
    enum Preemption {
        DONE,
        CONFLICT,
        INVALID,
    }

    /** Takes keys and reservation away from others (5.9.11.4). */
    Preemption preempt(int initiator, long key, int newType, boolean[] victims, BiConsumer<Integer, Integer> told) {
        boolean ofHolder = type != 0 && (allRegistrants() ? key == 0 : key == holderKey());
        if (key == 0 && !ofHolder) {
            return Preemption.INVALID;
        }
        boolean any = false;
        for (int i = 0; i < registered.length; i++) {
            boolean matches = registered[i] && (ofHolder && allRegistrants() ? i != initiator : keys[i] == key);
            any |= matches;
            if (matches && i != initiator) {
                victims[i] = true;
                registered[i] = false;
                keys[i] = 0;
                told.accept(i, Sense.REGISTRATIONS_PREEMPTED);
            }
        }
        if (!any && !ofHolder) {
            return Preemption.CONFLICT;
        }
        generation++;
        if (ofHolder) {
            type = newType;
            holder = initiator;
        }
        return Preemption.DONE;
    }

    /**
     * What is saved.
     *
     * @param registered a bit for each initiator
     */
    record State(int registered, long[] keys, int holder, int type, int generation, int reservedBy) {}

    State save() {
        int bits = 0;
        for (int i = 0; i < registered.length; i++) {
            bits |= registered[i] ? 1 << i : 0;
        }
        return new State(bits, keys.clone(), holder, type, generation, reservedBy);
    }

    void restore(State state) {
        for (int i = 0; i < registered.length; i++) {
            registered[i] = (state.registered >>> i & 1) != 0;
            keys[i] = i < state.keys.length ? state.keys[i] : 0;
        }
        holder = state.holder >= 0 && state.holder < registered.length ? state.holder : NOBODY;
        type = validType(state.type) ? state.type : 0;
        generation = state.generation;
        reservedBy = state.reservedBy;
    }
}
