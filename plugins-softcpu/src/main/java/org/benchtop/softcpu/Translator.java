package org.benchtop.softcpu;

import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.AccessFlag;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Translates hot integer code of 64-bit mode to JVM bytecode, one hidden class per region. A region is a set of blocks of one
 * page that lead to each other by direct jumps, entered at one of them. Registers and flags are local variables; they are
 * written back where the region is left: at a jump out of it, at an instruction that is not translated, when somebody asks
 * for the processor, and when an access misses the TLB. In the last case the steps of the block execute the instruction, so
 * that faults and devices are theirs alone.
 */
final class Translator {
    /** Executions of a block before it is translated. */
    static final int HOT = 100_000;

    /** Blocks that were executed less often than this part of the entry are left out. */
    private static final int COLD = 64;

    private static final int MAX_INSNS = 120;
    /** Without a loop, fewer instructions do not pay for loading and storing all registers. */
    private static final int WORTHWHILE_INSNS = 16;

    private static final ClassDesc REGION = desc(Region.class);
    private static final ClassDesc CPU = desc(Cpu.class);
    private static final ClassDesc MEMORY = desc(HostMemory.class);
    private static final ClassDesc FLAGS = desc(Flags.class);
    private static final ClassDesc LONG = ConstantDescs.CD_Long;
    private static final ClassDesc INTEGER = ConstantDescs.CD_Integer;
    private static final ClassDesc J = ConstantDescs.CD_long;
    private static final ClassDesc I = ConstantDescs.CD_int;
    private static final ClassDesc Z = ConstantDescs.CD_boolean;
    private static final ClassDesc V = ConstantDescs.CD_void;
    private static final ClassDesc WORDS = J.arrayType();
    private static final MethodTypeDesc RUN = MethodTypeDesc.of(V, CPU);
    private static final MethodTypeDesc TRANSLATE = MethodTypeDesc.of(J, WORDS, J, I);
    private static final MethodTypeDesc CONDITION = MethodTypeDesc.of(Z, I, I, J, J, J);
    private static final MethodTypeDesc CARRY = MethodTypeDesc.of(Z, I, J, J, J);
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

    // Local variables: this, the processor, its registers and TLB, sixteen registers, flags, temporaries.
    private static final int C = 1;
    private static final int R = 2;
    private static final int TLB = 3;
    private static final int REGISTERS = 4;
    private static final int KIND = 36;
    private static final int RES = 37;
    private static final int A = 39;
    private static final int B = 41;
    private static final int COUNT = 43;
    private static final int RIP = 45;
    private static final int ADDRESS = 47;
    private static final int HOST = 49;
    private static final int T0 = 51;
    private static final int T1 = 53;
    private static final int T2 = 55;

    private static ClassDesc desc(Class<?> c) {
        return c.describeConstable().orElseThrow();
    }

    /** A block with the number of its instructions that are translated. */
    private record Part(Block block, int translated, Label label) {}

    private final CodePages pages;
    private final Block entry;
    /** Loads of guest memory must stay in order: other processors write it. */
    private final boolean ordered;

    private final Map<Long, Part> parts = new LinkedHashMap<>();
    private CodeBuilder code;
    private Label tail;
    private Label stepsTail;
    private final List<Runnable> exits = new ArrayList<>();
    private int currentCount;

    @SuppressWarnings("NullAway.Init") // code and labels are set before anything is emitted
    private Translator(CodePages pages, Block entry, boolean ordered) {
        this.pages = pages;
        this.ordered = ordered;
        this.entry = entry;
    }

    /** A region and the blocks that it was made of. */
    record Translation(Region region, List<Block> parts) {}

    /** The translation of the code that starts with a block; null if too little of it can be translated. */
    static @Nullable Translation translate(CodePages pages, Block entry, boolean ordered) {
        return new Translator(pages, entry, ordered).translate();
    }

    private @Nullable Translation translate() {
        if (!worthwhile()) {
            return null;
        }
        byte[] bytes = ClassFile.of(
                        ClassFile.DebugElementsOption.DROP_DEBUG, ClassFile.LineNumbersOption.DROP_LINE_NUMBERS)
                .build(
                        ClassDesc.of("org.benchtop.softcpu.Translated"),
                        c -> c.withSuperclass(REGION)
                                .withFlags(AccessFlag.FINAL, AccessFlag.SYNTHETIC)
                                .withMethodBody(
                                        "<init>",
                                        ConstantDescs.MTD_void,
                                        0,
                                        b -> b.aload(0)
                                                .invokespecial(REGION, "<init>", ConstantDescs.MTD_void)
                                                .return_())
                                .withMethodBody("run", RUN, 0, this::emit));
        try {
            MethodHandles.Lookup hidden = LOOKUP.defineHiddenClass(bytes, false);
            Region region = (Region) hidden.findConstructor(hidden.lookupClass(), MethodType.methodType(void.class))
                    .invoke();
            return new Translation(region, chosen.stream().map(Chosen::block).toList());
        } catch (Throwable e) {
            throw new IllegalStateException("translated code is not accepted", e);
        }
    }

    // ---- which blocks ----

    private boolean worthwhile() {
        int insns = 0;
        boolean loops = false;
        Deque<Block> open = new ArrayDeque<>();
        open.add(entry);
        Map<Long, Integer> found = new LinkedHashMap<>();
        List<Block> blocks = new ArrayList<>();
        while (!open.isEmpty()) {
            Block block = open.poll();
            if (found.containsKey(block.rip) || insns >= MAX_INSNS || block.secondHost != 0) {
                continue;
            }
            int translated = 0;
            while (translated < block.insns.length && TranslatedInsns.supports(block.insns[translated])) {
                translated++;
            }
            if (block == entry && translated < block.insns.length) {
                return false;
            }
            if (translated == 0) {
                continue;
            }
            found.put(block.rip, translated);
            blocks.add(block);
            insns += translated;
            if (translated < block.insns.length) {
                continue;
            }
            for (long target : targets(block)) {
                loops |= found.containsKey(target);
                if (((target ^ entry.rip) & Cpu.PAGE_MASK) == 0) {
                    Block next = pages.find((entry.host & Cpu.PAGE_MASK) | target & 4095, target, entry.mode);
                    if (next != null && (next.heat >= entry.heat / COLD || next == entry)) {
                        open.add(next);
                    }
                }
            }
        }
        if (!loops && insns < WORTHWHILE_INSNS) {
            return false;
        }
        for (Block block : blocks) {
            Integer translated = found.get(block.rip);
            chosen.add(new Chosen(block, translated == null ? 0 : translated));
        }
        return true;
    }

    private record Chosen(Block block, int translated) {}

    private final List<Chosen> chosen = new ArrayList<>();

    private static long[] targets(Block block) {
        Insn last = block.insns[block.insns.length - 1];
        if (!last.ends()) {
            return new long[] {last.next()};
        }
        if (TranslatedInsns.isBranch(last)) {
            return new long[] {last.next() + last.imm, last.next()};
        }
        return new long[] {last.next() + last.imm};
    }

    // ---- code ----

    private void emit(CodeBuilder builder) {
        code = builder;
        tail = code.newLabel();
        stepsTail = code.newLabel();
        for (Chosen c : chosen) {
            parts.put(c.block.rip, new Part(c.block, c.translated, code.newLabel()));
        }
        code.aload(C).getfield(CPU, "r", WORDS).astore(R);
        code.aload(C).getfield(CPU, "tlb", WORDS).astore(TLB);
        for (int i = 0; i < 16; i++) {
            code.aload(R).loadConstant(i).laload().lstore(REGISTERS + 2 * i);
        }
        code.aload(C).getfield(CPU, "ccKind", I).istore(KIND);
        code.aload(C).getfield(CPU, "ccRes", J).lstore(RES);
        code.aload(C).getfield(CPU, "ccA", J).lstore(A);
        code.aload(C).getfield(CPU, "ccB", J).lstore(B);
        code.lconst_0().lstore(COUNT);
        for (int t : new int[] {RIP, ADDRESS, HOST, T0, T1, T2}) {
            code.lconst_0().lstore(t);
        }
        for (Part part : parts.values()) {
            part(part);
        }
        for (int i = 0; i < exits.size(); i++) {
            exits.get(i).run();
        }
        code.labelBinding(stepsTail);
        code.aload(C).iconst_1().putfield(CPU, "leaveToSteps", Z);
        code.labelBinding(tail);
        for (int i = 0; i < 16; i++) {
            code.aload(R).loadConstant(i).lload(REGISTERS + 2 * i).lastore();
        }
        code.aload(C).iload(KIND).putfield(CPU, "ccKind", I);
        code.aload(C).lload(RES).putfield(CPU, "ccRes", J);
        code.aload(C).lload(A).putfield(CPU, "ccA", J);
        code.aload(C).lload(B).putfield(CPU, "ccB", J);
        code.aload(C).dup().getfield(CPU, "instructions", J).lload(COUNT).ladd().putfield(CPU, "instructions", J);
        code.aload(C).lload(RIP).putfield(CPU, "rip", J);
        code.return_();
    }

    private void leave(long rip, boolean toSteps, int executed) {
        addCount(executed);
        code.loadConstant(rip).lstore(RIP);
        code.goto_(toSteps ? stepsTail : tail);
    }

    private void addCount(int n) {
        if (n != 0) {
            code.lload(COUNT).loadConstant((long) n).ladd().lstore(COUNT);
        }
    }

    /** A way out behind the code, for the steps to go on at an instruction. */
    private Label exitToSteps(long rip) {
        Label label = code.newLabel();
        int executed = currentCount;
        exits.add(() -> {
            code.labelBinding(label);
            leave(rip, true, executed);
        });
        return label;
    }

    private void part(Part part) {
        code.labelBinding(part.label);
        Insn[] insns = part.block.insns;
        for (int i = 0; i < part.translated; i++) {
            currentCount = i;
            Insn in = insns[i];
            if (in.ends()) {
                currentCount = i + 1;
                if (TranslatedInsns.isBranch(in)) {
                    Label taken = code.newLabel();
                    condition(in.opcode & 15, taken);
                    go(in.rip, in.next());
                    code.labelBinding(taken);
                    go(in.rip, in.next() + in.imm);
                } else {
                    go(in.rip, in.next() + in.imm);
                }
                return;
            }
            insn(in);
        }
        currentCount = part.translated;
        Insn last = insns[part.translated - 1];
        if (part.translated == insns.length) {
            go(last.rip, last.next());
        } else {
            leave(last.next(), false, part.translated);
        }
    }

    /** Continues at an address, inside the region if it is there. */
    private void go(long from, long target) {
        Part next = parts.get(target);
        if (next == null) {
            leave(target, false, currentCount);
            return;
        }
        addCount(currentCount);
        if (target <= from) {
            Label on = code.newLabel();
            code.aload(C).invokestatic(REGION, "poll", MethodTypeDesc.of(Z, CPU));
            code.ifeq(on);
            leave(target, false, 0);
            code.labelBinding(on);
        }
        code.goto_(next.label);
    }

    private void condition(int cc, Label taken) {
        pushCondition(cc);
        code.ifne(taken);
    }

    private void pushCondition(int cc) {
        code.loadConstant(cc).iload(KIND).lload(RES).lload(A).lload(B);
        code.invokestatic(FLAGS, "condition", CONDITION);
    }

    private void pushCarry() {
        code.iload(KIND)
                .lload(RES)
                .lload(A)
                .lload(B)
                .invokestatic(FLAGS, "cf", CARRY)
                .i2l();
    }

    private void get(int register) {
        code.lload(REGISTERS + 2 * register);
    }

    /** Sets a register of 4 or 8 bytes from the stack. */
    private void set(int register, int size) {
        if (size == 4) {
            code.loadConstant(0xffff_ffffL).land();
        }
        code.lstore(REGISTERS + 2 * register);
    }

    private void signExtend(int size) {
        switch (size) {
            case 4 -> code.l2i().i2l();
            case 2 -> code.l2i().i2s().i2l();
            case 1 -> code.l2i().i2b().i2l();
            default -> {
                // all of it
            }
        }
    }

    private void pushAddress(Insn in) {
        boolean any = false;
        if (in.base != Insn.NO_REGISTER) {
            get(in.base);
            any = true;
        }
        if (in.index != Insn.NO_REGISTER) {
            get(in.index);
            if (in.scale != 0) {
                code.loadConstant(in.scale).lshl();
            }
            if (any) {
                code.ladd();
            }
            any = true;
        }
        if (in.disp != 0 || !any) {
            code.loadConstant(in.disp);
            if (any) {
                code.ladd();
            }
        }
    }

    /** Leaves the host address of ADDRESS in HOST, or leaves the region. */
    private void translateAddress(Insn in, int size, boolean write) {
        code.aload(TLB).lload(ADDRESS).loadConstant(size - 1);
        code.invokestatic(REGION, write ? "writable" : "readable", TRANSLATE);
        code.lstore(HOST).lload(HOST).lconst_0().lcmp();
        code.ifeq(exitToSteps(in.rip));
    }

    /** Pushes what is at HOST, sign-extended or zero-extended to a long. */
    private void pushLoaded(int size, boolean signed) {
        code.lload(HOST);
        switch (size) {
            case 8 -> code.invokestatic(MEMORY, "get64", MethodTypeDesc.of(J, J));
            case 4 -> {
                code.invokestatic(MEMORY, "get32", MethodTypeDesc.of(I, J)).i2l();
                if (!signed) {
                    code.loadConstant(0xffff_ffffL).land();
                }
            }
            case 2 -> {
                code.invokestatic(MEMORY, "get16", MethodTypeDesc.of(I, J));
                if (signed) {
                    code.i2s();
                }
                code.i2l();
            }
            default -> {
                code.invokestatic(MEMORY, "get8", MethodTypeDesc.of(I, J));
                if (signed) {
                    code.i2b();
                }
                code.i2l();
            }
        }
        if (ordered) {
            code.invokestatic(REGION, "ordered", ConstantDescs.MTD_void);
        }
    }

    /** Stores a local variable to HOST. */
    private void storeLocal(int local, int size) {
        code.lload(HOST).lload(local);
        if (size != 8) {
            code.l2i();
        }
        code.invokestatic(MEMORY, "set" + 8 * size, MethodTypeDesc.of(V, J, size == 8 ? J : I));
    }

    private void memoryOperand(Insn in, int size, boolean write) {
        pushAddress(in);
        code.lstore(ADDRESS);
        translateAddress(in, size, write);
    }

    /** Pushes the ModRM operand. */
    private void pushRm(Insn in, int size, boolean signed) {
        if (in.memory) {
            memoryOperand(in, size, false);
            pushLoaded(size, signed);
            return;
        }
        get(in.rm);
        if (signed) {
            signExtend(size);
        } else if (size != 8) {
            code.loadConstant(Cpu.mask(size)).land();
        }
    }

    private void kind(int kind) {
        code.loadConstant(kind).istore(KIND);
    }

    private void insn(Insn in) {
        int opcode = in.opcode;
        int size = in.size;
        if (in.map == 1) {
            twoByte(in);
            return;
        }
        if (opcode < 0x40) {
            arithmetic(in, opcode >> 3, opcode & 7);
            return;
        }
        if (opcode >= 0x50 && opcode < 0x58) {
            get(in.rm);
            code.lstore(T0);
            get(Cpu.RSP);
            code.loadConstant(8L).lsub().lstore(ADDRESS);
            translateAddress(in, 8, true);
            storeLocal(T0, 8);
            code.lload(ADDRESS);
            set(Cpu.RSP, 8);
            return;
        }
        if (opcode >= 0x58 && opcode < 0x60) {
            get(Cpu.RSP);
            code.lstore(ADDRESS);
            translateAddress(in, 8, false);
            code.lload(ADDRESS).loadConstant(8L).ladd();
            set(Cpu.RSP, 8);
            pushLoaded(8, true);
            set(in.rm, 8);
            return;
        }
        if (opcode >= 0xb8 && opcode < 0xc0) {
            code.loadConstant(in.imm);
            set(in.rm, size);
            return;
        }
        switch (opcode) {
            case 0x63 -> {
                pushRm(in, 4, true);
                set(in.reg, size);
            }
            case 0x69, 0x6b -> {
                pushRm(in, size, true);
                code.lstore(T0).loadConstant(in.imm).lstore(T1);
                multiply(in, size);
            }
            case 0x80, 0x81, 0x83 -> arithmetic(in, in.extension(), 8);
            case 0x84, 0x85 -> {
                pushRm(in, size, true);
                get(in.reg);
                signExtend(size);
                code.land().lstore(RES);
                kind(Flags.LOGIC);
            }
            case 0x88, 0x89 -> {
                if (in.memory) {
                    memoryOperand(in, size, true);
                    storeLocal(REGISTERS + 2 * in.reg, size);
                } else {
                    get(in.reg);
                    set(in.rm, size);
                }
            }
            case 0x8b -> {
                pushRm(in, size, false);
                set(in.reg, size);
            }
            case 0x8d -> {
                pushAddress(in);
                set(in.reg, size);
            }
            case 0x90 -> {
                // NOP
            }
            case 0x98 -> {
                get(Cpu.RAX);
                signExtend(size / 2);
                set(Cpu.RAX, size);
            }
            case 0x99 -> {
                get(Cpu.RAX);
                signExtend(size);
                code.loadConstant(63).lshr();
                set(Cpu.RDX, size);
            }
            case 0xa8, 0xa9 -> {
                get(Cpu.RAX);
                signExtend(size);
                code.loadConstant(in.imm).land().lstore(RES);
                kind(Flags.LOGIC);
            }
            case 0xc1, 0xd1 -> shift(in, opcode == 0xd1 ? 1 : (int) in.imm);
            case 0xc6, 0xc7 -> {
                if (in.memory) {
                    memoryOperand(in, size, true);
                    code.loadConstant(in.imm).lstore(T0);
                    storeLocal(T0, size);
                } else {
                    code.loadConstant(in.imm);
                    set(in.rm, size);
                }
            }
            case 0xf6, 0xf7 -> group3(in);
            default -> incrementOrDecrement(in);
        }
    }

    private void operation(int op) {
        switch (op) {
            case Alu.ADD -> code.ladd();
            case Alu.SUB, Alu.CMP -> code.lsub();
            case Alu.AND -> code.land();
            case Alu.OR -> code.lor();
            default -> code.lxor();
        }
    }

    /** The eight basic operations; {@code form} as in the opcode, 8 for an immediate with ModRM. */
    private void arithmetic(Insn in, int op, int form) {
        int size = in.size;
        boolean toMemory = in.memory && (form < 2 || form == 8);
        boolean write = op != Alu.CMP;
        int destination = form == 8 || form < 2 ? in.rm : form < 4 ? in.reg : Cpu.RAX;
        // First operand in T0, second in T1, both sign-extended.
        if (toMemory) {
            memoryOperand(in, size, write);
            pushLoaded(size, true);
            code.lstore(T0);
        }
        switch (form) {
            case 0, 1 -> {
                get(in.reg);
                signExtend(size);
            }
            case 2, 3 -> pushRm(in, size, true);
            default -> code.loadConstant(in.imm);
        }
        code.lstore(T1);
        if (!toMemory) {
            get(destination);
            signExtend(size);
            code.lstore(T0);
        }
        boolean carries = op == Alu.ADC || op == Alu.SBB;
        if (carries) {
            pushCarry();
            code.lstore(T2);
            code.lload(T0).lload(T1);
            if (op == Alu.ADC) {
                code.ladd().lload(T2).ladd();
            } else {
                code.lsub().lload(T2).lsub();
            }
        } else {
            code.lload(T0).lload(T1);
            operation(op);
        }
        signExtend(size);
        code.lstore(RES);
        if (toMemory && write) {
            storeLocal(RES, size);
        } else if (write) {
            code.lload(RES);
            set(destination, size);
        }
        if (carries) {
            code.lload(T0).lstore(A).lload(T1).lstore(B);
            Label plain = code.newLabel();
            Label done = code.newLabel();
            code.lload(T2).lconst_0().lcmp().ifeq(plain);
            kind(op == Alu.ADC ? Flags.ADD_CARRY : Flags.SUB_BORROW);
            code.goto_(done).labelBinding(plain);
            kind(op == Alu.ADC ? Flags.ADD : Flags.SUB);
            code.labelBinding(done);
        } else if (op == Alu.ADD || op == Alu.SUB || op == Alu.CMP) {
            code.lload(T0).lstore(A).lload(T1).lstore(B);
            kind(op == Alu.ADD ? Flags.ADD : Flags.SUB);
        } else {
            kind(Flags.LOGIC);
        }
    }

    /** T0 times T1 to the register of ModRM. */
    private void multiply(Insn in, int size) {
        code.lload(T0).lload(T1).lmul().lstore(T2);
        code.lload(T2);
        signExtend(size);
        code.lstore(RES);
        Label same = code.newLabel();
        Label done = code.newLabel();
        if (size == 8) {
            code.lload(T0)
                    .lload(T1)
                    .invokestatic(ClassDesc.of("java.lang.Math"), "multiplyHigh", MethodTypeDesc.of(J, J, J));
            code.lload(T2).loadConstant(63).lshr();
        } else {
            code.lload(T2).lload(RES);
        }
        code.lcmp().ifeq(same);
        code.lconst_1().lstore(B).goto_(done);
        code.labelBinding(same).lconst_0().lstore(B);
        code.labelBinding(done);
        code.lload(B).lstore(A);
        kind(Flags.SHIFT);
        code.lload(T2);
        set(in.reg, size);
    }

    private void shift(Insn in, int rawCount) {
        int size = in.size;
        int width = 8 * size;
        int count = rawCount & (size == 8 ? 63 : 31);
        int ext = in.extension();
        get(in.rm);
        signExtend(size);
        code.lstore(T0);
        if (ext < 2) {
            rotate(in, ext == 0, count, size);
            return;
        }
        switch (ext) {
            case 5 -> {
                code.lload(T0);
                if (size == 4) {
                    code.loadConstant(0xffff_ffffL).land();
                }
                code.lstore(T1);
                code.lload(T1).loadConstant(count).lushr();
                signExtend(size);
                code.lstore(RES);
                code.lload(T1).loadConstant(count - 1).lushr().lconst_1().land().lstore(B);
                code.lload(T0).loadConstant(63).lushr().lstore(A);
            }
            case 7 -> {
                code.lload(T0).loadConstant(count).lshr().lstore(RES);
                code.lload(T0).loadConstant(count - 1).lshr().lconst_1().land().lstore(B);
                code.lconst_0().lstore(A);
            }
            default -> {
                code.lload(T0).loadConstant(count).lshl();
                signExtend(size);
                code.lstore(RES);
                code.lload(T0)
                        .loadConstant(width - count)
                        .lushr()
                        .lconst_1()
                        .land()
                        .lstore(B);
                code.lload(RES).loadConstant(63).lushr().lload(B).lxor().lstore(A);
            }
        }
        kind(Flags.SHIFT);
        code.lload(RES);
        set(in.rm, size);
    }

    /** ROL and ROR: CF and OF change, the others are computed and kept. */
    private void rotate(Insn in, boolean left, int count, int size) {
        int width = 8 * size;
        get(in.rm);
        if (size == 8) {
            code.loadConstant(left ? count : width - count);
            code.invokestatic(LONG, "rotateLeft", MethodTypeDesc.of(J, J, I));
        } else {
            code.l2i().loadConstant(left ? count : width - count);
            code.invokestatic(INTEGER, "rotateLeft", MethodTypeDesc.of(I, I, I)).i2l();
            code.loadConstant(0xffff_ffffL).land();
        }
        code.lstore(T1);
        code.iload(KIND).lload(RES).lload(A).lload(B);
        code.invokestatic(FLAGS, "status", MethodTypeDesc.of(I, I, J, J, J)).i2l();
        code.loadConstant((long) ~(Flags.CF | Flags.OF)).land();
        // CF: the bit that went around. OF: of the two top bits (right), or the top bit and CF (left).
        code.lload(T1)
                .loadConstant(left ? 0 : width - 1)
                .lushr()
                .lconst_1()
                .land()
                .lstore(T2);
        code.lload(T2).lor();
        code.lload(T1)
                .loadConstant(left ? width - 1 : width - 2)
                .lushr()
                .lload(T2)
                .lxor()
                .lconst_1()
                .land();
        code.loadConstant(11).lshl().lor().lstore(RES);
        kind(Flags.EXPLICIT);
        code.lload(T1);
        set(in.rm, size);
    }

    private void group3(Insn in) {
        int size = in.size;
        switch (in.extension()) {
            case 0, 1 -> {
                pushRm(in, size, true);
                code.loadConstant(in.imm).land().lstore(RES);
                kind(Flags.LOGIC);
            }
            case 2 -> {
                get(in.rm);
                code.loadConstant(-1L).lxor();
                set(in.rm, size);
            }
            default -> {
                get(in.rm);
                signExtend(size);
                code.lstore(B).lload(B).lneg();
                signExtend(size);
                code.lstore(RES).lconst_0().lstore(A);
                kind(Flags.SUB);
                code.lload(RES);
                set(in.rm, size);
            }
        }
    }

    private void incrementOrDecrement(Insn in) {
        int size = in.size;
        boolean up = in.extension() == 0;
        if (in.memory) {
            memoryOperand(in, size, true);
            pushLoaded(size, true);
        } else {
            get(in.rm);
            signExtend(size);
        }
        code.lstore(T0);
        pushCarry();
        code.lstore(B);
        code.lload(T0).lconst_1();
        if (up) {
            code.ladd();
        } else {
            code.lsub();
        }
        signExtend(size);
        code.lstore(RES).lload(T0).lstore(A);
        kind(up ? Flags.INC : Flags.DEC);
        if (in.memory) {
            storeLocal(RES, size);
        } else {
            code.lload(RES);
            set(in.rm, size);
        }
    }

    private void twoByte(Insn in) {
        int opcode = in.opcode;
        int size = in.operandSize;
        if (opcode >= 0x40 && opcode < 0x50) {
            pushRm(in, size, false);
            code.lstore(T0);
            Label keep = code.newLabel();
            Label done = code.newLabel();
            pushCondition(opcode & 15);
            code.ifeq(keep).lload(T0);
            set(in.reg, size);
            code.goto_(done).labelBinding(keep);
            get(in.reg);
            set(in.reg, size);
            code.labelBinding(done);
            return;
        }
        if (opcode >= 0x90 && opcode < 0xa0) {
            pushCondition(opcode & 15);
            code.i2l().lstore(T0);
            if (in.memory) {
                memoryOperand(in, 1, true);
                storeLocal(T0, 1);
            } else {
                get(in.rm);
                code.loadConstant(~0xffL).land().lload(T0).lor();
                set(in.rm, 8);
            }
            return;
        }
        switch (opcode) {
            case 0xaf -> {
                pushRm(in, size, true);
                code.lstore(T1);
                get(in.reg);
                signExtend(size);
                code.lstore(T0);
                multiply(in, size);
            }
            case 0xb6 -> {
                pushRm(in, 1, false);
                set(in.reg, size);
            }
            case 0xb7 -> {
                pushRm(in, 2, false);
                set(in.reg, size);
            }
            case 0xbe -> {
                pushRm(in, 1, true);
                set(in.reg, size);
            }
            case 0xbf -> {
                pushRm(in, 2, true);
                set(in.reg, size);
            }
            default -> {
                // a form of NOP
            }
        }
    }
}
