package org.benchtop.pc.common;

import org.benchtop.spi.device.Register;

/**
 * The columns of a register table, so that its enum is only the table.
 *
 * @param offset where the register starts
 * @param size 1, 2, 4 or 8
 * @param access who may do what
 * @param resetValue after reset
 * @param section specification and section
 */
public record RegisterSpec(int offset, int size, Register.Access access, long resetValue, String section) {
    /** A register that can be read and written. */
    public static RegisterSpec readWrite(int offset, int size, long resetValue, String section) {
        return new RegisterSpec(offset, size, Register.Access.READ_WRITE, resetValue, section);
    }

    /** A register that can only be read. */
    public static RegisterSpec readOnly(int offset, int size, long resetValue, String section) {
        return new RegisterSpec(offset, size, Register.Access.READ_ONLY, resetValue, section);
    }

    /** A register that can only be written. */
    public static RegisterSpec writeOnly(int offset, int size, String section) {
        return new RegisterSpec(offset, size, Register.Access.WRITE_ONLY, 0, section);
    }

    /** An enum whose constants are rows of a table. */
    public interface Table extends Register {
        /** The row. */
        RegisterSpec row();

        @Override
        default int offset() {
            return row().offset();
        }

        @Override
        default int size() {
            return row().size();
        }

        @Override
        default Access access() {
            return row().access();
        }

        @Override
        default long resetValue() {
            return row().resetValue();
        }

        @Override
        default String spec() {
            return row().section();
        }
    }
}
