package org.benchtop.guests.compile;

import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import org.benchtop.guests.compile.Ir.Imm;
import org.benchtop.guests.compile.Ir.Insn;
import org.benchtop.guests.compile.Ir.Kind;
import org.benchtop.guests.compile.Ir.Op;
import org.benchtop.guests.compile.Ir.Operand;
import org.benchtop.guests.compile.StackValue.Address;

/** Calls that become instructions in place: the {@code Guest} class and a few methods of the Java library. */
final class Intrinsics {
    private static final String GUEST = "org/benchtop/guests/lang/Guest";

    private Intrinsics() {}

    /** Translates the call if it is an intrinsic; arguments are on the translator's stack. */
    static boolean translate(Translator t, String owner, String name, MethodTypeDesc type) {
        return switch (owner) {
            case GUEST -> {
                guest(t, name, type);
                yield true;
            }
            case "java/lang/Math" -> math(t, name, type.descriptorString());
            case "java/lang/Long" -> wide(t, name);
            case "java/lang/Integer" -> narrow(t, name);
            default -> false;
        };
    }

    private static void guest(Translator t, String name, MethodTypeDesc type) {
        switch (name) {
            case "load8" -> load(t, Ir.UNSIGNED8, Kind.INT);
            case "load8Signed" -> load(t, Ir.SIGNED8, Kind.INT);
            case "load16", "load16Acquire" -> load(t, Ir.UNSIGNED16, Kind.INT);
            case "load32", "load32Acquire" -> load(t, Ir.WORD32, Kind.INT);
            case "load32Unsigned" -> load(t, Ir.WORD32, Kind.LONG);
            case "load64", "load64Acquire" -> load(t, Ir.WORD64, Kind.LONG);
            case "store8" -> store(t, Ir.UNSIGNED8);
            case "store16", "store16Release" -> store(t, Ir.UNSIGNED16);
            case "store32", "store32Release" -> store(t, Ir.WORD32);
            case "store64", "store64Release" -> store(t, Ir.WORD64);
            case "store32Volatile" -> {
                store(t, Ir.WORD32);
                effect(t, Op.FENCE, 0);
            }
            case "store64Volatile" -> {
                store(t, Ir.WORD64);
                effect(t, Op.FENCE, 0);
            }
            case "fence" -> effect(t, Op.FENCE, 0);
            case "compareAndSet32" -> result(t, Op.CAS, false, Kind.INT, 3, 0);
            case "compareAndSet64" -> result(t, Op.CAS, true, Kind.INT, 3, 0);
            case "fetchAdd32" -> result(t, Op.XADD, false, Kind.INT, 2, 0);
            case "fetchAdd64" -> result(t, Op.XADD, true, Kind.LONG, 2, 0);
            case "exchange32" -> result(t, Op.XCHG, false, Kind.INT, 2, 0);
            case "exchange64" -> result(t, Op.XCHG, true, Kind.LONG, 2, 0);
            case "divide128" -> result(t, Op.DIVIDE128, true, Kind.LONG, 3, 0);
            case "copy" -> effect(t, Op.COPY, 3);
            case "fill8" -> effect(t, Op.FILL8, 3);
            case "fill64" -> effect(t, Op.FILL64, 3);
            case "in8" -> result(t, Op.IN, false, Kind.INT, 1, Ir.UNSIGNED8);
            case "in16" -> result(t, Op.IN, false, Kind.INT, 1, Ir.UNSIGNED16);
            case "in32" -> result(t, Op.IN, false, Kind.INT, 1, Ir.WORD32);
            case "out8" -> port(t, Ir.UNSIGNED8);
            case "out16" -> port(t, Ir.UNSIGNED16);
            case "out32" -> port(t, Ir.WORD32);
            case "inWords" -> effect(t, Op.INS16, 3);
            case "outWords" -> effect(t, Op.OUTS16, 3);
            case "tsc" -> result(t, Op.TSC, true, Kind.LONG, 0, 0);
            case "tscOrdered" -> result(t, Op.TSC_ORDERED, true, Kind.LONG, 0, 0);
            case "pause" -> effect(t, Op.PAUSE, 0);
            case "cpuid" -> {
                int register = t.popConstant("the register of cpuid");
                if (register < 0 || register > 3) {
                    throw t.unsupported("register " + register + " of cpuid (allowed: 0 to 3)");
                }
                result(t, Op.CPUID, false, Kind.INT, 2, register);
            }
            case "readMsr" -> result(t, Op.RDMSR, true, Kind.LONG, 1, 0);
            case "writeMsr" -> effect(t, Op.WRMSR, 2);
            case "enableInterrupts" -> effect(t, Op.STI, 0);
            case "disableInterrupts" -> effect(t, Op.CLI, 0);
            case "flushTlb" -> effect(t, Op.FLUSH_TLB, 0);
            case "waitWhileEqual" -> effect(t, Op.WAIT, 2);
            case "park" -> effect(t, Op.PARK, 0);
            case "cpu" -> result(t, Op.CPU, false, Kind.INT, 0, 0);
            case "reserve" -> reserve(t, type.parameterCount() == 3);
            case "symbol" -> t.push(new Address(t.popText("the name of a symbol"), Kind.LONG));
            case "textAddress" -> {
                Operand text = t.popOperand();
                t.define(Op.ADD, Kind.LONG, text, new Imm(4));
            }
            case "textLength" -> load(t, Ir.WORD32, Kind.INT);
            case "taskAddress" -> {
                Operand task = t.popOperand();
                t.define(Op.MOVE, Kind.LONG, task);
            }
            case "callTask" -> {
                Insn call = new Insn(Op.CALL_TASK, false, Insn.NO_RESULT);
                t.call(call, "", 2, ConstantDescs.CD_void);
            }
            case "callInitializers" ->
                t.call(new Insn(Op.CALL, false, -1), Program.INITIALIZERS, 0, ConstantDescs.CD_void);
            case "callEntry" -> t.call(new Insn(Op.CALL, false, -1), Program.ENTRY, 0, ConstantDescs.CD_int);
            default -> throw t.unsupported("Guest." + name + " of another version of Benchtop");
        }
    }

    private static void load(Translator t, int width, Kind kind) {
        Insn load = new Insn(Op.LOAD, false, Insn.NO_RESULT, new Imm(0));
        load.detail = width;
        load.args[0] = t.popAddress(load);
        t.defineWith(load, kind);
    }

    private static void store(Translator t, int width) {
        Operand value = t.popOperand();
        Insn store = new Insn(Op.STORE, false, Insn.NO_RESULT, new Imm(0), value);
        store.detail = width;
        store.args[0] = t.popAddress(store);
        t.append(store);
    }

    private static Operand[] arguments(Translator t, int count) {
        Operand[] args = new Operand[count];
        for (int i = count - 1; i >= 0; i--) {
            args[i] = t.popOperand();
        }
        return args;
    }

    private static void effect(Translator t, Op op, int count) {
        t.append(new Insn(op, true, Insn.NO_RESULT, arguments(t, count)));
    }

    private static void port(Translator t, int width) {
        Insn out = new Insn(Op.OUT, false, Insn.NO_RESULT, arguments(t, 2));
        out.detail = width;
        t.append(out);
    }

    private static void result(Translator t, Op op, boolean wide, Kind kind, int count, int detail) {
        Insn insn = new Insn(op, wide, Insn.NO_RESULT, arguments(t, count));
        insn.detail = detail;
        t.defineWith(insn, kind);
    }

    private static void reserve(Translator t, boolean named) {
        int alignment = t.popConstant("the alignment of reserved memory");
        int sizeBytes = t.popConstant("the size of reserved memory");
        if (sizeBytes <= 0 || alignment <= 0 || Integer.bitCount(alignment) != 1) {
            throw t.unsupported("reserved memory of " + sizeBytes + " bytes aligned to " + alignment
                    + " (allowed: a positive size and a power of two)");
        }
        String name = named ? t.popText("the symbol of reserved memory") : "";
        t.push(new Address(t.program().reserve(name, sizeBytes, alignment), Kind.LONG));
    }

    private static boolean math(Translator t, String name, String type) {
        Op op = switch (name) {
            case "min" -> Op.MIN;
            case "max" -> Op.MAX;
            case "multiplyHigh" -> Op.MULHI;
            case "unsignedMultiplyHigh" -> Op.UMULHI;
            default -> Op.CPU;
        };
        boolean ints = type.equals("(II)I");
        if (op == Op.CPU || !ints && !type.equals("(JJ)J")) {
            return false;
        }
        t.binary(op, ints ? Kind.INT : Kind.LONG);
        return true;
    }

    private static boolean wide(Translator t, String name) {
        switch (name) {
            case "compareUnsigned" -> t.compare(true, true);
            case "compare" -> t.compare(true, false);
            case "divideUnsigned" -> t.binary(Op.UDIV, Kind.LONG);
            case "remainderUnsigned" -> t.binary(Op.UREM, Kind.LONG);
            case "rotateLeft" -> t.binary(Op.ROL, Kind.LONG);
            case "reverseBytes" -> t.unary(Op.BSWAP, Kind.LONG);
            case "numberOfLeadingZeros" -> count(t, Op.LEADING_ZEROS, true);
            case "numberOfTrailingZeros" -> count(t, Op.TRAILING_ZEROS, true);
            case "min" -> t.binary(Op.MIN, Kind.LONG);
            case "max" -> t.binary(Op.MAX, Kind.LONG);
            default -> {
                return false;
            }
        }
        return true;
    }

    private static boolean narrow(Translator t, String name) {
        switch (name) {
            case "compareUnsigned" -> t.compare(false, true);
            case "compare" -> t.compare(false, false);
            case "divideUnsigned" -> t.binary(Op.UDIV, Kind.INT);
            case "remainderUnsigned" -> t.binary(Op.UREM, Kind.INT);
            case "rotateLeft" -> t.binary(Op.ROL, Kind.INT);
            case "reverseBytes" -> t.unary(Op.BSWAP, Kind.INT);
            case "numberOfLeadingZeros" -> count(t, Op.LEADING_ZEROS, false);
            case "numberOfTrailingZeros" -> count(t, Op.TRAILING_ZEROS, false);
            case "toUnsignedLong" -> t.unary(Op.ZEXT32, Kind.LONG);
            case "min" -> t.binary(Op.MIN, Kind.INT);
            case "max" -> t.binary(Op.MAX, Kind.INT);
            default -> {
                return false;
            }
        }
        return true;
    }

    private static void count(Translator t, Op op, boolean wide) {
        result(t, op, wide, Kind.INT, 1, 0);
    }
}
