package org.benchtop.guests.compile;

import org.benchtop.guests.compile.Ir.Kind;
import org.benchtop.guests.compile.Ir.Operand;
import org.benchtop.guests.compile.Ir.Reg;

/** An entry of the operand stack as the translator follows it; most are computed only when something needs them. */
sealed interface StackValue {
    Kind kind();

    /** Whether the entry changes when the virtual register does. */
    boolean uses(int register);

    record InReg(int id, Kind kind) implements StackValue {
        @Override
        public boolean uses(int register) {
            return id == register;
        }
    }

    record Constant(long value, Kind kind) implements StackValue {
        @Override
        public boolean uses(int register) {
            return false;
        }
    }

    record Address(String symbol, Kind kind) implements StackValue {
        @Override
        public boolean uses(int register) {
            return false;
        }
    }

    /** A 64-bit base register plus a constant, not yet added. */
    record Sum(int base, int displacement) implements StackValue {
        @Override
        public Kind kind() {
            return Kind.LONG;
        }

        @Override
        public boolean uses(int register) {
            return base == register;
        }
    }

    /** The result of {@code lcmp} or {@code compareUnsigned}, not yet computed. */
    record Comparison(Operand left, Operand right, boolean wide, boolean unsigned) implements StackValue {
        @Override
        public Kind kind() {
            return Kind.INT;
        }

        @Override
        public boolean uses(int register) {
            return left instanceof Reg a && a.id() == register || right instanceof Reg b && b.id() == register;
        }
    }
}
