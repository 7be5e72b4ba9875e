package org.benchtop.guests.compile;

/** x86 condition codes, as in the low four bits of Jcc, SETcc and CMOVcc. */
final class Condition {
    static final int BELOW = 2;
    static final int ABOVE_EQUAL = 3;
    static final int EQUAL = 4;
    static final int NOT_EQUAL = 5;
    static final int BELOW_EQUAL = 6;
    static final int ABOVE = 7;
    static final int LESS = 12;
    static final int GREATER_EQUAL = 13;
    static final int LESS_EQUAL = 14;
    static final int GREATER = 15;

    private Condition() {}

    /** The condition that asks the same of unsigned operands. */
    static int unsigned(int condition) {
        return switch (condition) {
            case LESS -> BELOW;
            case GREATER_EQUAL -> ABOVE_EQUAL;
            case LESS_EQUAL -> BELOW_EQUAL;
            case GREATER -> ABOVE;
            default -> condition;
        };
    }

    /** The condition that holds for swapped operands. */
    static int mirrored(int condition) {
        return switch (condition) {
            case LESS -> GREATER;
            case GREATER -> LESS;
            case LESS_EQUAL -> GREATER_EQUAL;
            case GREATER_EQUAL -> LESS_EQUAL;
            case BELOW -> ABOVE;
            case ABOVE -> BELOW;
            case BELOW_EQUAL -> ABOVE_EQUAL;
            case ABOVE_EQUAL -> BELOW_EQUAL;
            default -> condition;
        };
    }

    static int negated(int condition) {
        return condition ^ 1;
    }
}
