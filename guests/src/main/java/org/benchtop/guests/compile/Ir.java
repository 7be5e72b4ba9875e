package org.benchtop.guests.compile;

import java.util.ArrayList;
import java.util.List;

/** The compiler's intermediate form: blocks of three-address instructions over virtual registers. */
final class Ir {
    /** What a virtual register or stack entry holds, as the JVM sees it. */
    enum Kind {
        INT,
        LONG,
        /** A string literal or a task: an address in the guest, one stack word in the JVM. */
        REFERENCE;

        boolean wide() {
            return this != INT;
        }
    }

    /** Something an instruction reads. */
    sealed interface Operand {}

    record Reg(int id) implements Operand {}

    record Imm(long value) implements Operand {}

    /** The address of a symbol; always below 2 GiB. */
    record Sym(String name, int addend) implements Operand {}

    enum Op {
        MOVE,
        ADD,
        SUB,
        AND,
        OR,
        XOR,
        MUL,
        SHL,
        SAR,
        SHR,
        ROL,
        NEG,
        DIV,
        REM,
        UDIV,
        UREM,
        DIVIDE128,
        MULHI,
        UMULHI,
        SEXT8,
        SEXT16,
        SEXT32,
        ZEXT16,
        ZEXT32,
        MIN,
        MAX,
        BSWAP,
        LEADING_ZEROS,
        TRAILING_ZEROS,
        COMPARE,
        UCOMPARE,
        LOAD,
        STORE,
        CALL,
        CALL_TASK,
        RETURN,
        JUMP,
        BRANCH,
        SWITCH,
        IN,
        OUT,
        INS16,
        OUTS16,
        TSC,
        TSC_ORDERED,
        PAUSE,
        FENCE,
        CPUID,
        RDMSR,
        WRMSR,
        WAIT,
        PARK,
        STI,
        CLI,
        FLUSH_TLB,
        CAS,
        XADD,
        XCHG,
        COPY,
        FILL8,
        FILL64,
        CPU;

        boolean terminator() {
            return this == RETURN || this == JUMP || this == BRANCH || this == SWITCH;
        }

        /** Can be dropped when nobody reads its result. */
        boolean pure() {
            return ordinal() <= UCOMPARE.ordinal()
                    && this != DIV
                    && this != REM
                    && this != UDIV
                    && this != UREM
                    && this != DIVIDE128;
        }

        /** Physical registers, as a bit mask, whose contents do not survive the instruction. */
        int clobbers() {
            return switch (this) {
                case CALL, CALL_TASK -> Allocator.CALLER_SAVED;
                case COPY, FILL8, FILL64, INS16, OUTS16, WAIT -> 1 << Assembler.RSI | 1 << Assembler.RDI;
                default -> 0;
            };
        }

        boolean commutative() {
            return switch (this) {
                case ADD, AND, OR, XOR, MUL -> true;
                default -> false;
            };
        }
    }

    /** Access width of loads, stores and ports, in {@link Insn#detail}. */
    static final int UNSIGNED8 = 1;

    static final int UNSIGNED16 = 2;
    static final int WORD32 = 4;
    static final int WORD64 = 8;
    static final int SIGNED8 = 17;
    static final int SIGNED16 = 18;

    /** One instruction; the meaning of {@code detail} and {@code symbol} depends on the operation. */
    static final class Insn {
        static final int NO_RESULT = -1;
        private static final Operand[] NO_ARGS = {};
        private static final int[] NO_INTS = {};

        final Op op;
        final boolean wide;
        int dst;
        Operand[] args;
        int line;

        /** Access width, condition code or index, by operation. */
        int detail;

        /** Displacement of a load or store. */
        int displacement;

        String symbol = "";

        int[] keys = NO_INTS;

        /** Block numbers; of a branch: taken, not taken; of a switch: one per key, then the default. */
        int[] targets = NO_INTS;

        Insn(Op op, boolean wide, int dst, Operand... args) {
            this.op = op;
            this.wide = wide;
            this.dst = dst;
            this.args = args.length == 0 ? NO_ARGS : args;
        }
    }

    static final class Block {
        final int id;
        final List<Insn> insns = new ArrayList<>();
        int loopDepth;

        Block(int id) {
            this.id = id;
        }

        int[] successors() {
            return insns.isEmpty() ? new int[0] : insns.getLast().targets;
        }
    }

    /** A translated method; block 0 is entered once, with the parameters defined. */
    static final class Method {
        final String symbol;
        /** Indexed by block number. */
        final List<Block> blocks = new ArrayList<>();

        /** The same blocks in the order of the code. */
        final List<Block> layout = new ArrayList<>();

        final List<Kind> registers = new ArrayList<>();
        final List<Integer> parameters = new ArrayList<>();

        Method(String symbol) {
            this.symbol = symbol;
        }

        int newRegister(Kind kind) {
            registers.add(kind);
            return registers.size() - 1;
        }
    }

    private Ir() {}
}
