package org.benchtop.softcpu;

import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.Opcode;
import java.lang.classfile.attribute.CodeAttribute;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.AccessFlag;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.benchtop.softcpu.fp.FpuState;
import org.jspecify.annotations.Nullable;

/**
 * Translates hot code of 64-bit mode to JVM bytecode, one hidden class per region. A region is a set of blocks that were
 * executed often and lead to each other by direct jumps and calls, entered at one of them; a return looks for the return
 * sites of the region's calls. Registers and flags are local variables; they are written back where the region is left: at a
 * jump out of it, when somebody asks for the processor, and when an access misses the TLB. In the last case the steps of the
 * block execute the instruction, so that faults and devices are theirs alone. Rarer instructions are not translated: the
 * region calls their handlers, or is left before them.
 */
final class Translator {
    /** Executions of a block before it is translated. */
    static final int HOT = 1 << 16;

    /** Blocks that were executed less often than this part of the entry are left out. */
    private static final int COLD = 64;

    private static final int MAX_INSNS = 120;
    /** The JVM compiles no method with more bytecode than this. */
    private static final int MAX_CODE_BYTES = 8000;
    /** Calls of handlers in a region: each stores and loads all registers. */
    private static final int MAX_CALLS = 12;
    /** Translated instructions for each call of a handler, at least. */
    private static final int INSNS_PER_CALL = 3;

    private static final int MAX_PAGES = 4;
    private static final int MAX_RETURN_SITES = 8;
    /** Without a loop, fewer instructions do not pay for loading and storing all registers. */
    private static final int WORTHWHILE_INSNS = 16;

    private static final ClassDesc REGION = desc(Region.class);
    private static final ClassDesc CPU = desc(Cpu.class);
    private static final ClassDesc MEMORY = desc(HostMemory.class);
    private static final ClassDesc FLAGS = desc(Flags.class);
    private static final ClassDesc FPU = desc(FpuState.class);
    private static final ClassDesc MATH = desc(Math.class);
    private static final ClassDesc LONG = ConstantDescs.CD_Long;
    private static final ClassDesc INTEGER = ConstantDescs.CD_Integer;
    private static final ClassDesc J = ConstantDescs.CD_long;
    private static final ClassDesc I = ConstantDescs.CD_int;
    private static final ClassDesc Z = ConstantDescs.CD_boolean;
    private static final ClassDesc VOID = ConstantDescs.CD_void;
    private static final ClassDesc WORDS = J.arrayType();
    private static final MethodTypeDesc RUN = MethodTypeDesc.of(VOID, CPU);
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
    private static final int FS_BASE = 57;
    private static final int GS_BASE = 59;
    /** The vector registers. */
    private static final int V = 61;

    private static final int LOW = 62;
    private static final int HIGH = 64;

    private static ClassDesc desc(Class<?> c) {
        return c.describeConstable().orElseThrow();
    }

    /** A block with the number of its instructions that are translated. */
    private record Part(Block block, int translated, Label label) {}

    private final SoftVm vm;
    private final CodePages pages;
    private final Block entry;
    /** Loads of guest memory must stay in order: other processors write it. */
    private final boolean ordered;

    private final Map<Long, Part> parts = new LinkedHashMap<>();
    private final List<Long> returnSites = new ArrayList<>();
    private CodeBuilder code;
    private Label tail;
    private Label stepsTail;
    private final List<Runnable> exits = new ArrayList<>();
    private int currentCount;
    private int insnCount;
    private final int maxInsns;
    private final boolean calls;
    /** Instructions that are left to their handlers. */
    private final List<Insn> called = new ArrayList<>();
    /** General registers that are read or written, and those that are written. */
    private int used;

    private int written;
    private boolean usesFs;
    private boolean usesGs;
    private boolean usesVectors;
    /** The kind of the flags where it is known while code is emitted, or -1. */
    private int knownKind = -1;

    @SuppressWarnings("NullAway.Init") // code and labels are set before anything is emitted
    private Translator(SoftVm vm, Block entry, int maxInsns, boolean calls) {
        this.maxInsns = maxInsns;
        this.calls = calls;
        this.vm = vm;
        this.pages = vm.code();
        this.entry = entry;
        this.ordered = vm.multiprocessor();
    }

    /** A region and the blocks that it was made of. */
    record Translation(Region region, List<Block> parts) {}

    /** Translates the code that starts with a block, if that pays, and makes processors use it. Any thread. */
    static void install(SoftVm vm, Block entry) {
        try {
            if (!entry.valid || entry.region != null) {
                return;
            }
            // Where time is counted, interrupts come at the ends of blocks only: a handler may ask for one inside.
            Translation translation = vm.turns() == null ? translate(vm, entry, true) : null;
            if (translation == null) {
                translation = translate(vm, entry, false);
            }
            if (translation != null) {
                vm.code().install(entry, translation);
            }
        } catch (RuntimeException e) {
            // The steps do the same, slower.
            System.getLogger("org.benchtop.softcpu")
                    .log(
                            System.Logger.Level.WARNING,
                            vm.name() + ": code at 0x" + Long.toHexString(entry.rip) + " cannot be translated",
                            e);
        }
    }

    private static @Nullable Translation translate(SoftVm vm, Block entry, boolean calls) {
        for (int max = MAX_INSNS; max > 1; max /= 2) {
            Translator translator = new Translator(vm, entry, max, calls);
            if (!translator.worthwhile()) {
                return null;
            }
            byte[] bytes = translator.bytes();
            if (codeBytes(bytes) < MAX_CODE_BYTES) {
                return translator.define(bytes);
            }
        }
        return null;
    }

    private static int codeBytes(byte[] classFile) {
        return ClassFile.of().parse(classFile).methods().stream()
                .flatMap(method -> method.findAttribute(Attributes.code()).stream())
                .mapToInt(CodeAttribute::codeLength)
                .max()
                .orElseThrow();
    }

    private byte[] bytes() {
        findUses();
        return ClassFile.of(ClassFile.DebugElementsOption.DROP_DEBUG, ClassFile.LineNumbersOption.DROP_LINE_NUMBERS)
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
    }

    private Translation define(byte[] bytes) {
        Region region;
        try {
            MethodHandles.Lookup hidden = LOOKUP.defineHiddenClass(bytes, false);
            region = (Region) hidden.findConstructor(hidden.lookupClass(), MethodType.methodType(void.class))
                    .invoke();
        } catch (Throwable e) {
            throw new IllegalStateException("translated code is not accepted", e);
        }
        List<Block> elsewhere = new ArrayList<>();
        for (Chosen c : chosen) {
            if (page(c.block) != page(entry) && elsewhere.stream().noneMatch(b -> page(b) == page(c.block))) {
                elsewhere.add(c.block);
            }
        }
        region.made(elsewhere.toArray(new Block[0]), insnCount, called.toArray(new Insn[0]));
        return new Translation(region, chosen.stream().map(Chosen::block).toList());
    }

    private static long page(Block block) {
        return block.rip & Cpu.PAGE_MASK;
    }

    // ---- which blocks ----

    private boolean worthwhile() {
        int insns = 0;
        int callCount = 0;
        boolean loops = false;
        Deque<Block> open = new ArrayDeque<>();
        open.add(entry);
        Map<Long, Integer> found = new LinkedHashMap<>();
        Map<Long, Long> hosts = new HashMap<>();
        while (!open.isEmpty()) {
            Block block = open.poll();
            if (found.containsKey(block.rip)
                    || insns >= maxInsns
                    || block.secondHost != 0
                    || !block.valid
                    || block.hooked) {
                continue;
            }
            Long host = hosts.get(page(block));
            if (host == null ? hosts.size() == MAX_PAGES : host != (block.host & Cpu.PAGE_MASK)) {
                continue;
            }
            int translated = 0;
            int handlers = 0;
            while (translated < block.insns.length) {
                Insn in = block.insns[translated];
                if (!supports(in)) {
                    if (!calls || callCount + handlers == MAX_CALLS || !TranslatedInsns.callable(in)) {
                        break;
                    }
                    handlers++;
                }
                translated++;
            }
            if (block == entry && translated < block.insns.length) {
                return false;
            }
            if (translated == 0) {
                continue;
            }
            found.put(block.rip, translated);
            hosts.put(page(block), block.host & Cpu.PAGE_MASK);
            chosen.add(new Chosen(block, translated));
            insns += translated;
            callCount += handlers;
            if (translated < block.insns.length) {
                continue;
            }
            for (long target : targets(block)) {
                loops |= found.containsKey(target);
                Block next = pages.at(target, block, entry.mode);
                if (next != null && (next.heat >= entry.heat / COLD || next.region != null)) {
                    open.add(next);
                }
            }
        }
        for (Chosen c : chosen) {
            Insn last = c.block.insns[c.block.insns.length - 1];
            if (c.translated == c.block.insns.length
                    && TranslatedInsns.isCall(last)
                    && found.containsKey(last.next())
                    && returnSites.size() < MAX_RETURN_SITES) {
                returnSites.add(last.next());
            }
        }
        insnCount = insns;
        if (insns < (INSNS_PER_CALL + 1) * callCount) {
            return false;
        }
        return loops || insns >= WORTHWHILE_INSNS;
    }

    private boolean supports(Insn in) {
        return TranslatedInsns.supports(in, vm.cpuFeatures());
    }

    private void findUses() {
        for (Chosen c : chosen) {
            for (int i = 0; i < c.translated; i++) {
                Insn in = c.block.insns[i];
                if (!supports(in)) {
                    continue;
                }
                boolean vector = TranslatedInsns.isVector(in);
                usesVectors |= vector;
                if (in.memory) {
                    used |= 1 << in.base | 1 << in.index;
                    usesFs |= in.seg == Cpu.FS;
                    usesGs |= in.seg == Cpu.GS;
                }
                int registers = TranslatedInsns.registers(in);
                used |= registers;
                written |= registers;
            }
        }
        used &= 0xffff;
        written &= 0xffff;
    }

    private record Chosen(Block block, int translated) {}

    private final List<Chosen> chosen = new ArrayList<>();

    private static long[] targets(Block block) {
        Insn last = block.insns[block.insns.length - 1];
        if (!last.ends()) {
            return new long[] {last.next()};
        }
        if (TranslatedInsns.isBranch(last) || TranslatedInsns.isCall(last)) {
            return new long[] {last.next() + last.imm, last.next()};
        }
        if (TranslatedInsns.isJump(last)) {
            return new long[] {last.next() + last.imm};
        }
        if (TranslatedInsns.isString(last)) {
            return new long[] {last.next()};
        }
        return new long[0];
    }

    // ---- code ----

    private void emit(CodeBuilder builder) {
        code = builder;
        tail = code.newLabel();
        stepsTail = code.newLabel();
        for (Chosen c : chosen) {
            parts.put(c.block.rip, new Part(c.block, c.translated, code.newLabel()));
        }
        if (usesVectors) {
            Label usable = code.newLabel();
            code.aload(C)
                    .invokestatic(REGION, "sseUsable", MethodTypeDesc.of(Z, CPU))
                    .ifne(usable);
            code.aload(C).iconst_1().putfield(CPU, "leaveToSteps", Z).return_();
            code.labelBinding(usable);
            code.aload(C).getfield(CPU, "fpu", FPU).getfield(FPU, "ymm", WORDS).astore(V);
        }
        code.aload(C).getfield(CPU, "r", WORDS).astore(R);
        code.aload(C).getfield(CPU, "tlb", WORDS).astore(TLB);
        segmentBase(usesFs, Cpu.FS, FS_BASE);
        segmentBase(usesGs, Cpu.GS, GS_BASE);
        loadState();
        code.lconst_0().lstore(COUNT);
        for (int t : new int[] {RIP, ADDRESS, HOST, T0, T1, T2, LOW, HIGH}) {
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
        storeState();
        code.aload(C).lload(RIP).putfield(CPU, "rip", J);
        code.return_();
    }

    private void loadState() {
        for (int i = 0; i < 16; i++) {
            if ((used & 1 << i) != 0) {
                code.aload(R).loadConstant(i).laload().lstore(REGISTERS + 2 * i);
            }
        }
        code.aload(C).getfield(CPU, "ccKind", I).istore(KIND);
        code.aload(C).getfield(CPU, "ccRes", J).lstore(RES);
        code.aload(C).getfield(CPU, "ccA", J).lstore(A);
        code.aload(C).getfield(CPU, "ccB", J).lstore(B);
    }

    private void storeState() {
        for (int i = 0; i < 16; i++) {
            if ((written & 1 << i) != 0) {
                code.aload(R).loadConstant(i).lload(REGISTERS + 2 * i).lastore();
            }
        }
        code.aload(C).iload(KIND).putfield(CPU, "ccKind", I);
        code.aload(C).lload(RES).putfield(CPU, "ccRes", J);
        code.aload(C).lload(A).putfield(CPU, "ccA", J);
        code.aload(C).lload(B).putfield(CPU, "ccB", J);
        code.aload(C).dup().getfield(CPU, "instructions", J).lload(COUNT).ladd().putfield(CPU, "instructions", J);
    }

    /** Lets an instruction's handler execute it. */
    private void call(Insn in) {
        int before = currentCount;
        addCount(before);
        storeState();
        code.loadConstant((long) -before).lstore(COUNT);
        code.aload(0).aload(C).loadConstant(called.size());
        code.invokevirtual(REGION, "handle", MethodTypeDesc.of(Z, CPU, I));
        called.add(in);
        loadState();
        knownKind = -1;
        Label on = code.newLabel();
        code.ifeq(on);
        addCount(before + 1);
        code.aload(C).getfield(CPU, "rip", J).lstore(RIP).goto_(tail);
        code.labelBinding(on);
    }

    private void segmentBase(boolean isUsed, int seg, int local) {
        if (isUsed) {
            code.aload(C)
                    .getfield(CPU, "segBase", WORDS)
                    .loadConstant(seg)
                    .laload()
                    .lstore(local);
        }
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
        knownKind = -1;
        Insn[] insns = part.block.insns;
        for (int i = 0; i < part.translated; i++) {
            currentCount = i;
            Insn in = insns[i];
            if (!supports(in)) {
                call(in);
                if (in.ends()) {
                    currentCount = i + 1;
                    go(in.rip, in.next());
                    return;
                }
                continue;
            }
            if (in.ends()) {
                end(in, i);
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

    private void end(Insn in, int index) {
        if (TranslatedInsns.isBranch(in)) {
            currentCount = index + 1;
            Label taken = code.newLabel();
            condition(in.opcode & 15, taken);
            go(in.rip, in.next());
            code.labelBinding(taken);
            go(in.rip, in.next() + in.imm);
            return;
        }
        if (TranslatedInsns.isJump(in)) {
            currentCount = index + 1;
            go(in.rip, in.next() + in.imm);
            return;
        }
        if (TranslatedInsns.isReturn(in)) {
            returning(in, index);
            return;
        }
        boolean direct = in.opcode == 0xe8;
        if (!direct) {
            pushRm(in, 8, true);
            code.lstore(RIP);
            checkCanonical(in);
        }
        if (direct || in.extension() == 2) {
            code.loadConstant(in.next()).lstore(T0);
            push(in);
        }
        currentCount = index + 1;
        if (direct) {
            go(in.rip, in.next() + in.imm);
        } else {
            addCount(currentCount);
            code.goto_(tail);
        }
    }

    /** Leaves the instruction to the steps if what is in RIP may not be jumped to. */
    private void checkCanonical(Insn in) {
        code.aload(C).lload(RIP).invokestatic(REGION, "canonical", MethodTypeDesc.of(Z, CPU, J));
        code.ifeq(exitToSteps(in.rip));
    }

    /** Pushes T0. */
    private void push(Insn in) {
        get(Cpu.RSP);
        code.loadConstant(8L).lsub().lstore(ADDRESS);
        translateAddress(in, 8, true);
        storeLocal(T0, 8);
        code.lload(ADDRESS);
        set(Cpu.RSP, 8);
    }

    private void returning(Insn in, int index) {
        long extra = 8 + (in.opcode == 0xc2 ? in.imm & 0xffff : 0);
        get(Cpu.RSP);
        code.lstore(ADDRESS);
        translateAddress(in, 8, false);
        pushLoaded(8, true);
        code.lstore(RIP);
        checkCanonical(in);
        code.lload(ADDRESS).loadConstant(extra).ladd();
        set(Cpu.RSP, 8);
        addCount(index + 1);
        if (returnSites.isEmpty()) {
            code.goto_(tail);
            return;
        }
        poll();
        code.ifne(tail);
        for (long site : returnSites) {
            Part next = parts.get(site);
            if (next != null) {
                code.lload(RIP).loadConstant(site).lcmp().ifeq(next.label);
            }
        }
        code.goto_(tail);
    }

    /** Pushes whether to leave. */
    private void poll() {
        if (vm.options().icount()) {
            code.aload(C).lload(COUNT).loadConstant(insnCount);
            code.invokestatic(REGION, "pollCounted", MethodTypeDesc.of(Z, CPU, J, I));
        } else {
            code.aload(C).invokestatic(REGION, "poll", MethodTypeDesc.of(Z, CPU));
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
            poll();
            code.ifeq(on);
            leave(target, false, 0);
            code.labelBinding(on);
        }
        code.goto_(next.label);
    }

    /** Jumps if a condition holds. */
    private void condition(int cc, Label taken) {
        boolean negated = (cc & 1) != 0;
        int test = cc >> 1;
        boolean results = knownKind > Flags.EXPLICIT;
        if (results && test == 2) {
            code.lload(RES).lconst_0().lcmp();
            jump(negated ? Opcode.IFNE : Opcode.IFEQ, taken);
        } else if (results && test == 4 || knownKind == Flags.LOGIC && test == 6) {
            code.lload(RES).lconst_0().lcmp();
            jump(negated ? Opcode.IFGE : Opcode.IFLT, taken);
        } else if (knownKind == Flags.SUB && (test == 1 || test == 3)) {
            code.lload(A).lload(B).invokestatic(LONG, "compareUnsigned", MethodTypeDesc.of(I, J, J));
            jump(test == 1 ? negated ? Opcode.IFGE : Opcode.IFLT : negated ? Opcode.IFGT : Opcode.IFLE, taken);
        } else if (knownKind == Flags.SUB && (test == 6 || test == 7)) {
            code.lload(A).lload(B).lcmp();
            jump(test == 6 ? negated ? Opcode.IFGE : Opcode.IFLT : negated ? Opcode.IFGT : Opcode.IFLE, taken);
        } else if (knownKind == Flags.LOGIC && test == 7) {
            code.lload(RES).lconst_0().lcmp();
            jump(negated ? Opcode.IFGT : Opcode.IFLE, taken);
        } else {
            code.loadConstant(cc);
            pushKind();
            code.lload(RES).lload(A).lload(B).invokestatic(FLAGS, "condition", CONDITION);
            code.ifne(taken);
        }
    }

    private void jump(Opcode opcode, Label target) {
        code.branch(opcode, target);
    }

    private void pushKind() {
        if (knownKind >= 0) {
            code.loadConstant(knownKind);
        } else {
            code.iload(KIND);
        }
    }

    private void pushCondition(int cc) {
        Label holds = code.newLabel();
        Label done = code.newLabel();
        condition(cc, holds);
        code.iconst_0().goto_(done).labelBinding(holds).iconst_1().labelBinding(done);
    }

    private void pushCarry() {
        pushKind();
        code.lload(RES).lload(A).lload(B).invokestatic(FLAGS, "cf", CARRY).i2l();
    }

    private void get(int register) {
        code.lload(REGISTERS + 2 * register);
    }

    /** Sets a register of 1, 2, 4 or 8 bytes from the stack. */
    private void set(int register, int size) {
        if (size == 4) {
            code.loadConstant(0xffff_ffffL).land();
        } else if (size < 4) {
            code.loadConstant(Cpu.mask(size)).land();
            get(register);
            code.loadConstant(~Cpu.mask(size)).land().lor();
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
        code.invokestatic(MEMORY, "set" + 8 * size, MethodTypeDesc.of(VOID, J, size == 8 ? J : I));
    }

    private void memoryOperand(Insn in, int size, boolean write) {
        pushAddress(in);
        if (in.seg >= Cpu.FS) {
            code.lload(in.seg == Cpu.FS ? FS_BASE : GS_BASE).ladd();
        }
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
        knownKind = kind;
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
            push(in);
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
        if (opcode >= 0xb0 && opcode < 0xc0) {
            code.loadConstant(in.imm);
            set(in.rm, size);
            return;
        }
        if (opcode > 0x90 && opcode < 0x98) {
            exchange(Cpu.RAX, in.rm, size);
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
            case 0x68, 0x6a -> {
                code.loadConstant(in.imm).lstore(T0);
                push(in);
            }
            case 0x87 -> exchange(in.reg, in.rm, size);
            case 0xc9 -> {
                get(Cpu.RBP);
                code.lstore(ADDRESS);
                translateAddress(in, 8, false);
                code.lload(ADDRESS).loadConstant(8L).ladd();
                set(Cpu.RSP, 8);
                pushLoaded(8, true);
                set(Cpu.RBP, 8);
            }
            case 0x8a, 0x8b -> {
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
            case 0xd3 -> shiftByCl(in);
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

    private void exchange(int a, int b, int size) {
        get(a);
        code.lstore(T0);
        get(b);
        set(a, size);
        code.lload(T0);
        set(b, size);
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
            knownKind = -1;
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
            code.lload(T0).lload(T1).invokestatic(MATH, "multiplyHigh", MethodTypeDesc.of(J, J, J));
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

    /** A count of zero keeps the flags. */
    private void shiftByCl(Insn in) {
        int size = in.size;
        Label keep = code.newLabel();
        get(in.rm);
        signExtend(size);
        code.lstore(T0);
        get(Cpu.RCX);
        code.loadConstant(size == 8 ? 63L : 31L).land().lstore(T2);
        code.lload(T2).lconst_0().lcmp().ifeq(keep);
        switch (in.extension()) {
            case 5 -> {
                code.lload(T0);
                if (size == 4) {
                    code.loadConstant(0xffff_ffffL).land();
                }
                code.lstore(T1);
                code.lload(T1).lload(T2).l2i().lushr();
                signExtend(size);
                code.lstore(RES);
                code.lload(T1).lload(T2).l2i().iconst_1().isub().lushr();
                code.lconst_1().land().lstore(B);
                code.lload(T0).loadConstant(63).lushr().lstore(A);
            }
            case 7 -> {
                code.lload(T0).lload(T2).l2i().lshr().lstore(RES);
                code.lload(T0).lload(T2).l2i().iconst_1().isub().lshr();
                code.lconst_1().land().lstore(B);
                code.lconst_0().lstore(A);
            }
            default -> {
                code.lload(T0).lload(T2).l2i().lshl();
                signExtend(size);
                code.lstore(RES);
                code.lload(T0).loadConstant(8 * size).lload(T2).l2i().isub().lushr();
                code.lconst_1().land().lstore(B);
                code.lload(RES).loadConstant(63).lushr().lload(B).lxor().lstore(A);
            }
        }
        kind(Flags.SHIFT);
        code.lload(RES).lstore(T0);
        code.labelBinding(keep);
        knownKind = -1;
        code.lload(T0);
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
            case 4, 5 -> multiplyAccumulator(in, in.extension() == 5);
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

    /** MUL and IMUL of the accumulator: CF and OF tell whether the upper half matters. */
    private void multiplyAccumulator(Insn in, boolean signed) {
        int size = in.size;
        pushRm(in, size, signed);
        code.lstore(T0);
        get(Cpu.RAX);
        if (signed) {
            signExtend(size);
        } else if (size == 4) {
            code.loadConstant(0xffff_ffffL).land();
        }
        code.lstore(T1);
        code.lload(T0).lload(T1).lmul().lstore(RES);
        if (size == 8) {
            code.lload(T1).lload(T0);
            code.invokestatic(MATH, signed ? "multiplyHigh" : "unsignedMultiplyHigh", MethodTypeDesc.of(J, J, J));
        } else {
            code.lload(RES).loadConstant(32).lshr();
        }
        code.lstore(T2);
        code.lload(RES);
        set(Cpu.RAX, size);
        code.lload(T2);
        set(Cpu.RDX, size);
        code.lload(RES);
        signExtend(size);
        code.lstore(RES);
        Label fits = code.newLabel();
        Label done = code.newLabel();
        code.lload(T2);
        if (size == 4) {
            signExtend(4);
        }
        if (signed) {
            code.lload(RES).loadConstant(63).lshr();
        } else {
            code.lconst_0();
        }
        code.lcmp().ifeq(fits);
        code.lconst_1().lstore(B).goto_(done);
        code.labelBinding(fits).lconst_0().lstore(B);
        code.labelBinding(done);
        code.lload(B).lstore(A);
        kind(Flags.SHIFT);
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
        if (TranslatedInsns.isVector(in)) {
            vector(in);
            return;
        }
        if (opcode >= 0xc8 && opcode < 0xd0) {
            get(in.rm);
            if (size == 8) {
                code.invokestatic(LONG, "reverseBytes", MethodTypeDesc.of(J, J));
            } else {
                code.l2i()
                        .invokestatic(INTEGER, "reverseBytes", MethodTypeDesc.of(I, I))
                        .i2l();
            }
            set(in.rm, size);
            return;
        }
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

    // ---- vectors ----

    private void vector(Insn in) {
        int x = in.reg << 2;
        int y = in.rm << 2;
        switch (in.opcode) {
            case 0x10, 0x28, 0x6f -> {
                source(in, TranslatedInsns.needsAlignment(in));
                code.aload(V).loadConstant(x).lload(LOW).lastore();
                code.aload(V).loadConstant(x + 1).lload(HIGH).lastore();
            }
            case 0x11, 0x29, 0x7f -> {
                if (!in.memory) {
                    copy(x, y);
                    copy(x + 1, y + 1);
                    return;
                }
                memoryVector(in, true, TranslatedInsns.needsAlignment(in));
                storeWord(x, 0);
                storeWord(x + 1, 8);
            }
            case 0x73 -> {
                for (int word = 0; word < 2; word++) {
                    code.aload(V).loadConstant(y + word);
                    code.aload(V).loadConstant(y + word).laload().loadConstant((int) in.imm);
                    if (in.extension() == 2) {
                        code.lushr();
                    } else {
                        code.lshl();
                    }
                    code.lastore();
                }
            }
            case 0x6e -> {
                pushRm(in, in.w ? 8 : 4, false);
                code.lstore(LOW).aload(V).loadConstant(x).lload(LOW).lastore();
                code.aload(V).loadConstant(x + 1).lconst_0().lastore();
            }
            case 0x7e -> {
                if (in.pp == Insn.PP_F3) {
                    if (in.memory) {
                        memoryOperand(in, 8, false);
                        pushLoaded(8, true);
                    } else {
                        code.aload(V).loadConstant(y).laload();
                    }
                    code.lstore(LOW).aload(V).loadConstant(x).lload(LOW).lastore();
                    code.aload(V).loadConstant(x + 1).lconst_0().lastore();
                } else if (in.memory) {
                    memoryOperand(in, in.w ? 8 : 4, true);
                    code.aload(V).loadConstant(x).laload().lstore(T0);
                    storeLocal(T0, in.w ? 8 : 4);
                } else {
                    code.aload(V).loadConstant(x).laload();
                    set(in.rm, in.w ? 8 : 4);
                }
            }
            case 0xd6 -> {
                memoryOperand(in, 8, true);
                code.aload(V).loadConstant(x).laload().lstore(T0);
                storeLocal(T0, 8);
            }
            default -> {
                source(in, true);
                for (int word = 0; word < 2; word++) {
                    code.aload(V).loadConstant(x + word);
                    code.aload(V).loadConstant(x + word).laload();
                    code.lload(word == 0 ? LOW : HIGH);
                    wordOperation(in.opcode);
                    code.lastore();
                }
            }
        }
    }

    private void wordOperation(int opcode) {
        switch (opcode) {
            case 0xef, 0x57 -> code.lxor();
            case 0xeb, 0x56 -> code.lor();
            case 0xdb, 0x54 -> code.land();
            case 0xd4 -> code.ladd();
            case 0xfb -> code.lsub();
            default -> {
                String name = switch (opcode) {
                    case 0xfe -> "addDwords";
                    case 0xfa -> "subtractDwords";
                    case 0xfc -> "addBytes";
                    case 0xf8 -> "subtractBytes";
                    default -> "equalBytes";
                };
                code.invokestatic(REGION, name, MethodTypeDesc.of(J, J, J));
            }
        }
    }

    private void copy(int from, int to) {
        code.aload(V).loadConstant(to).aload(V).loadConstant(from).laload().lastore();
    }

    private void storeWord(int from, long offset) {
        code.lload(HOST).loadConstant(offset).ladd().aload(V).loadConstant(from).laload();
        code.invokestatic(MEMORY, "set64", MethodTypeDesc.of(VOID, J, J));
    }

    /** Leaves the host address of a 16-byte operand in HOST. */
    private void memoryVector(Insn in, boolean write, boolean aligned) {
        memoryOperand(in, 16, write);
        if (aligned) {
            code.lload(ADDRESS).l2i().loadConstant(15).iand().ifne(exitToSteps(in.rip));
        }
    }

    /** Leaves the second operand in LOW and HIGH. */
    private void source(Insn in, boolean aligned) {
        if (in.memory) {
            memoryVector(in, false, aligned);
            code.lload(HOST)
                    .invokestatic(MEMORY, "get64", MethodTypeDesc.of(J, J))
                    .lstore(LOW);
            code.lload(HOST).loadConstant(8L).ladd();
            code.invokestatic(MEMORY, "get64", MethodTypeDesc.of(J, J)).lstore(HIGH);
            if (ordered) {
                code.invokestatic(REGION, "ordered", ConstantDescs.MTD_void);
            }
            return;
        }
        code.aload(V).loadConstant(in.rm << 2).laload().lstore(LOW);
        code.aload(V).loadConstant((in.rm << 2) + 1).laload().lstore(HIGH);
    }
}
