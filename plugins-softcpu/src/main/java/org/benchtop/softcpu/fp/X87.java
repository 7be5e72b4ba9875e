package org.benchtop.softcpu.fp;

import org.benchtop.softcpu.Cpu;
import org.benchtop.softcpu.Insn;
import org.benchtop.softcpu.InsnHandler;
import org.jspecify.annotations.Nullable;

/**
 * Finds the handlers of x87 instructions: one-byte opcodes D8–DF and WAIT (9B) (Intel SDM vol. 2, tables ).
 *
 * <p>With CR0.NE clear, a pending exception is ignored as with IGNNE# asserted: no board of ours wires FERR#.
 */
public final class X87 {
    private static final long PI = 0xc90f_daa2_2168_c235L;
    private static final long LOG2_10 = 0xd49a_784b_cd1b_8afeL;
    private static final long LOG2_E = 0xb8aa_3b29_5c17_f0bcL;
    private static final long LOG10_2 = 0x9a20_9a84_fbcf_f799L;
    private static final long LN_2 = 0xb172_17f7_d1cf_79acL;

    /** Memory forms by opcode and extension. */
    private static final @Nullable InsnHandler[] MEMORY = new InsnHandler[64];

    /** Register forms by opcode and the lower six bits of ModRM. */
    private static final @Nullable InsnHandler[] REGISTER = new InsnHandler[512];

    private X87() {}

    /** The handler of an instruction, or null if it is undefined. */
    public static @Nullable InsnHandler handler(Insn insn) {
        if (insn.opcode == 0x9b) {
            return X87::fwait;
        }
        return insn.memory
                ? MEMORY[(insn.opcode & 7) << 3 | insn.extension()]
                : REGISTER[(insn.opcode & 7) << 6 | insn.modrm & 63];
    }

    // ---------------------------------------------------------------- frames of instructions

    /** The work of an instruction between the checks and the update of the pointers. */
    @FunctionalInterface
    private interface Body {
        void run(X87Unit unit, Cpu cpu, Insn insn);
    }

    /** Computes what goes to memory; false for nothing. */
    @FunctionalInterface
    private interface Value {
        boolean compute(X87Unit unit);
    }

    private static X87Unit available(Cpu cpu) {
        if ((cpu.cr0 & (Cpu.CR0_EM | Cpu.CR0_TS)) != 0) {
            throw cpu.nm();
        }
        return cpu.fpu.x87;
    }

    private static X87Unit enter(Cpu cpu) {
        X87Unit unit = available(cpu);
        checkPending(cpu, unit);
        unit.begin();
        return unit;
    }

    private static void checkPending(Cpu cpu, X87Unit unit) {
        if (unit.pending() && (cpu.cr0 & Cpu.CR0_NE) != 0) {
            throw cpu.mf();
        }
    }

    private static void fwait(Cpu cpu, Insn insn) {
        if ((cpu.cr0 & (Cpu.CR0_MP | Cpu.CR0_TS)) == (Cpu.CR0_MP | Cpu.CR0_TS)) {
            throw cpu.nm();
        }
        checkPending(cpu, cpu.fpu.x87);
    }

    private static void point(X87Unit unit, Cpu cpu, Insn insn) {
        unit.lastOpcode = (insn.opcode & 7) << 8 | insn.modrm;
        unit.lastInstruction = insn.rip;
        if (insn.memory) {
            unit.lastOperand = cpu.offset(insn);
        }
    }

    /** A waiting instruction that sets the pointers. */
    private static InsnHandler waiting(Body body) {
        return (cpu, insn) -> {
            X87Unit unit = enter(cpu);
            body.run(unit, cpu, insn);
            point(unit, cpu, insn);
        };
    }

    /** A waiting control instruction. */
    private static InsnHandler control(Body body) {
        return (cpu, insn) -> body.run(enter(cpu), cpu, insn);
    }

    /** A control instruction that does not look at pending exceptions. */
    private static InsnHandler notWaiting(Body body) {
        return (cpu, insn) -> body.run(available(cpu), cpu, insn);
    }

    /** A store of 2, 4 or 8 bytes from {@link X87Unit#value}. */
    private static InsnHandler storing(int size, boolean pop, Value value) {
        return (cpu, insn) -> {
            X87Unit unit = enter(cpu);
            boolean store = value.compute(unit);
            if (store) {
                cpu.store(cpu.address(insn, size, true), size, unit.value);
            } else {
                cpu.checkWrite(cpu.address(insn, size, true), size);
            }
            unit.commit(store, pop);
            point(unit, cpu, insn);
        };
    }

    /** A store of 10 bytes from {@link X87Unit#value} and {@link X87Unit#valueSe}. */
    private static InsnHandler storingTen(Value value) {
        return (cpu, insn) -> {
            X87Unit unit = enter(cpu);
            boolean store = value.compute(unit);
            long a = cpu.address(insn, 10, true);
            cpu.checkWrite(a, 10);
            if (store) {
                cpu.store64(a, unit.value);
                cpu.store16(a + 8, unit.valueSe);
            }
            unit.commit(store, true);
            point(unit, cpu, insn);
        };
    }

    // ---------------------------------------------------------------- operands

    private static void load32(X87Unit unit, Cpu cpu, Insn insn) {
        unit.value32(cpu.load32(cpu.address(insn, 4, false)));
    }

    private static void load64(X87Unit unit, Cpu cpu, Insn insn) {
        unit.value64(cpu.load64(cpu.address(insn, 8, false)));
    }

    private static void loadInteger16(X87Unit unit, Cpu cpu, Insn insn) {
        unit.valueInteger((short) cpu.load16(cpu.address(insn, 2, false)));
    }

    private static void loadInteger32(X87Unit unit, Cpu cpu, Insn insn) {
        unit.valueInteger(cpu.load32(cpu.address(insn, 4, false)));
    }

    private static void loadInteger64(X87Unit unit, Cpu cpu, Insn insn) {
        unit.valueInteger(cpu.load64(cpu.address(insn, 8, false)));
    }

    // ---------------------------------------------------------------- tables

    private static void memory(int opcode, int extension, InsnHandler handler) {
        MEMORY[(opcode & 7) << 3 | extension] = handler;
    }

    /** One encoding. */
    private static void register(int opcode, int modrm, InsnHandler handler) {
        REGISTER[(opcode & 7) << 6 | modrm & 63] = handler;
    }

    /** One handler for each ST(i). */
    private static void stack(int opcode, int modrm, java.util.function.IntFunction<Body> body) {
        for (int i = 0; i < 8; i++) {
            register(opcode, modrm + i, waiting(body.apply(i)));
        }
    }

    private static void body(int opcode, int modrm, Body body) {
        register(opcode, modrm, waiting(body));
    }

    /** The eight arithmetic instructions of a memory operand. */
    private static void arithmetic(int opcode, Body load) {
        for (int extension = 0; extension < 8; extension++) {
            int operation = extension;
            if (operation == 2 || operation == 3) {
                int pops = operation - 2;
                memory(opcode, extension, waiting((unit, cpu, insn) -> {
                    load.run(unit, cpu, insn);
                    unit.compareValue(pops);
                }));
            } else {
                memory(opcode, extension, waiting((unit, cpu, insn) -> {
                    load.run(unit, cpu, insn);
                    unit.arithmeticValue(operation);
                }));
            }
        }
    }

    private static void constant(int modrm, int exponent, long nearest, int more) {
        int se = exponent + X87Unit.BIAS;
        body(0xd9, modrm, (unit, cpu, insn) -> unit.loadConstant(se, nearest, more));
    }

    private static void conditionalMoves(int opcode, int mask0, int mask1, int mask2, int mask3, boolean wanted) {
        int[] masks = {mask0, mask1, mask2, mask3};
        for (int n = 0; n < 4; n++) {
            int mask = masks[n];
            stack(
                    opcode,
                    0xc0 + 8 * n,
                    i -> (unit, cpu, insn) -> unit.conditionalMove(i, (cpu.status() & mask) != 0 == wanted));
        }
    }

    private static void compareFlags(int opcode, int modrm, boolean quiet, boolean pop) {
        stack(opcode, modrm, i -> (unit, cpu, insn) -> {
            cpu.setStatus(unit.compareFlags(i, quiet, pop));
        });
    }

    static {
        arithmetic(0xd8, X87::load32);
        arithmetic(0xdc, X87::load64);
        arithmetic(0xda, X87::loadInteger32);
        arithmetic(0xde, X87::loadInteger16);
        memoryMoves();
        registerArithmetic();
        registerMoves();
        functions();
    }

    private static void memoryMoves() {
        memory(0xd9, 0, waiting((unit, cpu, insn) -> {
            load32(unit, cpu, insn);
            unit.loadFloat();
        }));
        memory(0xdd, 0, waiting((unit, cpu, insn) -> {
            load64(unit, cpu, insn);
            unit.loadFloat();
        }));
        memory(0xdb, 5, waiting((unit, cpu, insn) -> {
            long a = cpu.address(insn, 10, false);
            long m = cpu.load64(a);
            unit.valueSe = cpu.load16(a + 8);
            unit.value = m;
            unit.push();
        }));
        memory(0xdf, 4, waiting((unit, cpu, insn) -> {
            long a = cpu.address(insn, 10, false);
            long low = cpu.load64(a);
            unit.valueBcd(low, cpu.load16(a + 8));
            unit.push();
        }));
        memory(0xdf, 0, waiting((unit, cpu, insn) -> {
            loadInteger16(unit, cpu, insn);
            unit.push();
        }));
        memory(0xdb, 0, waiting((unit, cpu, insn) -> {
            loadInteger32(unit, cpu, insn);
            unit.push();
        }));
        memory(0xdf, 5, waiting((unit, cpu, insn) -> {
            loadInteger64(unit, cpu, insn);
            unit.push();
        }));
        memory(0xd9, 2, storing(4, false, unit -> unit.floatValue(false)));
        memory(0xd9, 3, storing(4, true, unit -> unit.floatValue(false)));
        memory(0xdd, 2, storing(8, false, unit -> unit.floatValue(true)));
        memory(0xdd, 3, storing(8, true, unit -> unit.floatValue(true)));
        memory(0xdf, 2, storing(2, false, unit -> unit.integerValue(2, false)));
        memory(0xdf, 3, storing(2, true, unit -> unit.integerValue(2, false)));
        memory(0xdb, 2, storing(4, false, unit -> unit.integerValue(4, false)));
        memory(0xdb, 3, storing(4, true, unit -> unit.integerValue(4, false)));
        memory(0xdf, 7, storing(8, true, unit -> unit.integerValue(8, false)));
        memory(0xdf, 1, storing(2, true, unit -> unit.integerValue(2, true)));
        memory(0xdb, 1, storing(4, true, unit -> unit.integerValue(4, true)));
        memory(0xdd, 1, storing(8, true, unit -> unit.integerValue(8, true)));
        memory(0xdb, 7, storingTen(X87Unit::extendedValue));
        memory(0xdf, 6, storingTen(X87Unit::bcdValue));

        memory(0xd9, 5, control((unit, cpu, insn) -> unit.controlWord(cpu.load16(cpu.address(insn, 2, false)))));
        memory(0xd9, 7, notWaiting((unit, cpu, insn) -> cpu.store16(cpu.address(insn, 2, true), unit.control)));
        memory(0xdd, 7, notWaiting((unit, cpu, insn) -> cpu.store16(cpu.address(insn, 2, true), unit.statusWord())));
        memory(0xd9, 4, control(StateImages::loadEnvironment));
        memory(0xd9, 6, notWaiting(StateImages::storeEnvironment));
        memory(0xdd, 4, control(StateImages::restore));
        memory(0xdd, 6, notWaiting(StateImages::save));
    }

    private static void registerArithmetic() {
        for (int n = 0; n < 8; n++) {
            if (n == 2 || n == 3) {
                continue;
            }
            int operation = n;
            // With ST(i) as destination, the encodings of SUB and SUBR, DIV and DIVR are exchanged in meaning.
            stack(0xd8, 0xc0 + 8 * n, i -> (unit, cpu, insn) -> unit.arithmetic(operation, 0, i, false));
            int reversed = n >= 4 ? n ^ 1 : n;
            stack(0xdc, 0xc0 + 8 * n, i -> (unit, cpu, insn) -> unit.arithmetic(reversed, i, 0, false));
            stack(0xde, 0xc0 + 8 * n, i -> (unit, cpu, insn) -> unit.arithmetic(reversed, i, 0, true));
        }
        for (int opcode : new int[] {0xd8, 0xdc}) {
            stack(opcode, 0xd0, i -> (unit, cpu, insn) -> unit.compare(i, false, 0));
            stack(opcode, 0xd8, i -> (unit, cpu, insn) -> unit.compare(i, false, 1));
        }
        stack(0xde, 0xd0, i -> (unit, cpu, insn) -> unit.compare(i, false, 1));
        body(0xde, 0xd9, (unit, cpu, insn) -> unit.compare(1, false, 2));
        stack(0xdd, 0xe0, i -> (unit, cpu, insn) -> unit.compare(i, true, 0));
        stack(0xdd, 0xe8, i -> (unit, cpu, insn) -> unit.compare(i, true, 1));
        body(0xda, 0xe9, (unit, cpu, insn) -> unit.compare(1, true, 2));
        compareFlags(0xdb, 0xe8, true, false);
        compareFlags(0xdb, 0xf0, false, false);
        compareFlags(0xdf, 0xe8, true, true);
        compareFlags(0xdf, 0xf0, false, true);
    }

    private static void registerMoves() {
        stack(0xd9, 0xc0, i -> (unit, cpu, insn) -> unit.loadRegister(i));
        for (int opcode : new int[] {0xd9, 0xdd, 0xdf}) {
            stack(opcode, 0xc8, i -> (unit, cpu, insn) -> unit.exchange(i));
        }
        stack(0xd9, 0xd8, i -> (unit, cpu, insn) -> unit.storeRegisterQuietly(i));
        stack(0xdd, 0xd0, i -> (unit, cpu, insn) -> unit.storeRegister(i, false));
        stack(0xdd, 0xd8, i -> (unit, cpu, insn) -> unit.storeRegister(i, true));
        stack(0xdf, 0xd0, i -> (unit, cpu, insn) -> unit.storeRegister(i, true));
        stack(0xdf, 0xd8, i -> (unit, cpu, insn) -> unit.storeRegister(i, true));
        stack(0xdd, 0xc0, i -> (unit, cpu, insn) -> unit.free(i, false));
        stack(0xdf, 0xc0, i -> (unit, cpu, insn) -> unit.free(i, true));
        conditionalMoves(0xda, 0x01, 0x40, 0x41, 0x04, true);
        conditionalMoves(0xdb, 0x01, 0x40, 0x41, 0x04, false);
        body(0xd9, 0xd0, (unit, cpu, insn) -> {});
        InsnHandler nothing = notWaiting((unit, cpu, insn) -> {});
        register(0xdb, 0xe0, nothing);
        register(0xdb, 0xe1, nothing);
        register(0xdb, 0xe4, nothing);
        register(0xdb, 0xe2, notWaiting((unit, cpu, insn) -> unit.clearExceptions()));
        register(0xdb, 0xe3, notWaiting((unit, cpu, insn) -> unit.init()));
        register(0xdf, 0xe0, notWaiting((unit, cpu, insn) -> cpu.set(Cpu.RAX, 2, unit.statusWord())));
    }

    private static void functions() {
        body(0xd9, 0xe0, (unit, cpu, insn) -> unit.sign(false));
        body(0xd9, 0xe1, (unit, cpu, insn) -> unit.sign(true));
        body(0xd9, 0xe4, (unit, cpu, insn) -> unit.test());
        body(0xd9, 0xe5, (unit, cpu, insn) -> unit.examine());
        constant(0xe8, 0, X87Unit.INTEGER_BIT, 0);
        constant(0xe9, 1, LOG2_10, 1);
        constant(0xea, 0, LOG2_E, -1);
        constant(0xeb, 1, PI, -1);
        constant(0xec, -2, LOG10_2, -1);
        constant(0xed, -1, LN_2, -1);
        constant(0xee, -X87Unit.BIAS, 0, 0);
        body(0xd9, 0xf0, (unit, cpu, insn) -> unit.exponential());
        body(0xd9, 0xf1, (unit, cpu, insn) -> unit.logarithm(false));
        body(0xd9, 0xf2, (unit, cpu, insn) -> unit.tangent(false));
        body(0xd9, 0xf3, (unit, cpu, insn) -> unit.arctangent());
        body(0xd9, 0xf4, (unit, cpu, insn) -> unit.extract());
        body(0xd9, 0xf5, (unit, cpu, insn) -> unit.remainder(true));
        body(0xd9, 0xf6, (unit, cpu, insn) -> unit.rotate(-1));
        body(0xd9, 0xf7, (unit, cpu, insn) -> unit.rotate(1));
        body(0xd9, 0xf8, (unit, cpu, insn) -> unit.remainder(false));
        body(0xd9, 0xf9, (unit, cpu, insn) -> unit.logarithm(true));
        body(0xd9, 0xfa, (unit, cpu, insn) -> unit.squareRoot());
        body(0xd9, 0xfb, (unit, cpu, insn) -> unit.tangent(true));
        body(0xd9, 0xfc, (unit, cpu, insn) -> unit.roundToInteger());
        body(0xd9, 0xfd, (unit, cpu, insn) -> unit.scale());
        body(0xd9, 0xfe, (unit, cpu, insn) -> unit.sine(false));
        body(0xd9, 0xff, (unit, cpu, insn) -> unit.sine(true));
    }
}
