package org.benchtop.guests.compile;

import java.lang.classfile.Attributes;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.Instruction;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.ConvertInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.IncrementInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.LineNumber;
import java.lang.classfile.instruction.LoadInstruction;
import java.lang.classfile.instruction.LookupSwitchInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NopInstruction;
import java.lang.classfile.instruction.OperatorInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.classfile.instruction.StackInstruction;
import java.lang.classfile.instruction.StoreInstruction;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.classfile.instruction.TableSwitchInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.benchtop.guests.compile.Ir.Imm;
import org.benchtop.guests.compile.Ir.Insn;
import org.benchtop.guests.compile.Ir.Kind;
import org.benchtop.guests.compile.Ir.Op;
import org.benchtop.guests.compile.Ir.Operand;
import org.benchtop.guests.compile.Ir.Reg;
import org.benchtop.guests.compile.Ir.Sym;
import org.benchtop.guests.compile.StackValue.Address;
import org.benchtop.guests.compile.StackValue.Comparison;
import org.benchtop.guests.compile.StackValue.Constant;
import org.benchtop.guests.compile.StackValue.InReg;
import org.benchtop.guests.compile.StackValue.Sum;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/**
 * Turns the bytecode of one static method into {@link Ir}.
 *
 * <p>The operand stack is followed symbolically: constants, locals and simple sums stay unevaluated on it until an
 * instruction needs them, so most pushes and pops cost nothing. Where control flow joins with a non-empty stack, its
 * entries pass through one fixed virtual register per depth.
 */
final class Translator {
    static final ClassDesc TASK = ClassDesc.of("org.benchtop.guests.lang.CpuTask");

    private final Program program;
    private final ClassUnit unit;
    private final MethodModel model;
    private final Ir.Method method;
    private final Map<Label, Integer> blockOf = new HashMap<>();
    private final Map<Integer, List<Kind>> entryStacks = new HashMap<>();
    private final Map<Integer, Integer> locals = new HashMap<>();
    private final Map<Integer, Integer> joins = new HashMap<>();
    private List<StackValue> stack = new ArrayList<>();
    private Ir.Block current;
    private boolean reachable = true;
    private int line;

    private Translator(Program program, ClassUnit unit, MethodModel model, String symbol) {
        this.program = program;
        this.unit = unit;
        this.model = model;
        this.method = new Ir.Method(symbol);
        this.current = new Ir.Block(0);
        method.blocks.add(current);
        method.layout.add(current);
    }

    static Ir.Method translate(Program program, ClassUnit unit, MethodModel model, String symbol) {
        return new Translator(program, unit, model, symbol).run();
    }

    private Ir.Method run() {
        if (!model.flags().has(AccessFlag.STATIC)) {
            throw unsupported("the method is not static");
        }
        CodeModel code = model.findAttribute(Attributes.code()).orElse(null);
        if (code == null) {
            throw unsupported("the method has no code (native or abstract)");
        }
        if (!code.exceptionHandlers().isEmpty()) {
            code.elementStream()
                    .filter(LineNumber.class::isInstance)
                    .findFirst()
                    .ifPresent(first -> line = ((LineNumber) first).line());
            throw unsupported("try/catch");
        }
        declareParameters();
        findBlocks(code);
        for (CodeElement element : code.elementList()) {
            switch (element) {
                case LabelTarget target -> startBlockAt(target.label());
                case LineNumber number -> line = number.line();
                case Instruction instruction -> {
                    if (reachable) {
                        translate(instruction);
                    }
                }
                default -> {}
            }
        }
        for (Ir.Block block : method.blocks) {
            if (block.insns.isEmpty() || !block.insns.getLast().op.terminator()) {
                block.insns.add(new Insn(Op.PARK, false, Insn.NO_RESULT));
                block.insns.add(new Insn(Op.RETURN, false, Insn.NO_RESULT));
            }
        }
        return method;
    }

    private void declareParameters() {
        MethodTypeDesc type = program.methodType(model.methodType().stringValue());
        checkType(type.returnType());
        int slot = 0;
        for (ClassDesc parameter : type.parameterList()) {
            Kind kind = checkType(parameter);
            method.parameters.add(local(slot, kind));
            slot += kind == Kind.LONG ? 2 : 1;
        }
    }

    private void findBlocks(CodeModel code) {
        for (CodeElement element : code.elementList()) {
            switch (element) {
                case BranchInstruction branch -> blockOf.put(branch.target(), -1);
                case TableSwitchInstruction table -> {
                    blockOf.put(table.defaultTarget(), -1);
                    table.cases().forEach(each -> blockOf.put(each.target(), -1));
                }
                case LookupSwitchInstruction lookup -> {
                    blockOf.put(lookup.defaultTarget(), -1);
                    lookup.cases().forEach(each -> blockOf.put(each.target(), -1));
                }
                default -> {}
            }
        }
    }

    /** The block of a label, made on first use; blocks are laid out in the order they are reached. */
    private Ir.Block blockAt(Label label) {
        Integer known = blockOf.get(label);
        if (known == null) {
            throw unsupported("a branch to a label outside the method");
        }
        if (known >= 0) {
            return method.blocks.get(known);
        }
        Ir.Block block = newBlock();
        blockOf.put(label, block.id);
        return block;
    }

    private Ir.Block newBlock() {
        Ir.Block block = new Ir.Block(method.blocks.size());
        method.blocks.add(block);
        return block;
    }

    private void startBlockAt(Label label) {
        if (!blockOf.containsKey(label)) {
            return;
        }
        Ir.Block block = blockAt(label);
        if (reachable) {
            jumpTo(block);
        }
        enter(block);
        reachable = true;
    }

    private void enter(Ir.Block block) {
        current = block;
        method.layout.add(block);
        stack = new ArrayList<>();
        List<Kind> kinds = entryStacks.computeIfAbsent(block.id, id -> List.of());
        for (int depth = 0; depth < kinds.size(); depth++) {
            stack.add(new InReg(join(depth, kinds.get(depth)), kinds.get(depth)));
        }
    }

    private void jumpTo(Ir.Block block) {
        flushStack(block);
        Insn jump = new Insn(Op.JUMP, false, Insn.NO_RESULT);
        jump.targets = new int[] {block.id};
        append(jump);
    }

    /** Moves the symbolic stack into the join registers that {@code targets} expect. */
    private void flushStack(Ir.Block... targets) {
        if (stack.isEmpty()) {
            for (Ir.Block target : targets) {
                List<Kind> expected = entryStacks.putIfAbsent(target.id, List.of());
                if (expected != null && !expected.isEmpty()) {
                    throw unsupported("a join with different operand stacks");
                }
            }
            return;
        }
        List<Kind> kinds = stack.stream().map(StackValue::kind).toList();
        for (Ir.Block target : targets) {
            List<Kind> expected = entryStacks.putIfAbsent(target.id, kinds);
            if (expected != null && !expected.equals(kinds)) {
                throw unsupported("a join with different operand stacks");
            }
        }
        Set<Integer> written = new HashSet<>();
        for (int depth = 0; depth < stack.size(); depth++) {
            int join = join(depth, kinds.get(depth));
            if (!(stack.get(depth) instanceof InReg reg && reg.id() == join)) {
                written.add(join);
            }
        }
        for (int depth = 0; depth < stack.size(); depth++) {
            StackValue value = stack.get(depth);
            int own = join(depth, kinds.get(depth));
            if (value instanceof InReg reg && reg.id() != own && written.contains(reg.id())) {
                stack.set(depth, copy(value));
            } else if (value instanceof Sum sum && written.contains(sum.base())
                    || value instanceof Comparison comparison
                            && (reads(comparison.left(), written) || reads(comparison.right(), written))) {
                stack.set(depth, toReg(value));
            }
        }
        for (int depth = 0; depth < stack.size(); depth++) {
            int join = join(depth, kinds.get(depth));
            StackValue value = stack.get(depth);
            if (!(value instanceof InReg reg && reg.id() == join)) {
                assign(join, kinds.get(depth), value);
                stack.set(depth, new InReg(join, kinds.get(depth)));
            }
        }
    }

    private static boolean reads(Operand operand, Set<Integer> registers) {
        return operand instanceof Reg reg && registers.contains(reg.id());
    }

    private int join(int depth, Kind kind) {
        return joins.computeIfAbsent(depth * 4 + kind.ordinal(), key -> method.newRegister(kind));
    }

    private int local(int slot, Kind kind) {
        return locals.computeIfAbsent(slot * 4 + kind.ordinal(), key -> method.newRegister(kind));
    }

    // ---- stack handling used by the intrinsics too

    int line() {
        return line;
    }

    void append(Insn insn) {
        insn.line = line;
        current.insns.add(insn);
    }

    void push(StackValue value) {
        stack.add(value);
    }

    StackValue pop() {
        if (stack.isEmpty()) {
            throw unsupported("malformed bytecode (operand stack underflow)");
        }
        return stack.removeLast();
    }

    Operand popOperand() {
        return operand(pop());
    }

    /** Emits {@code insn} with a fresh result register and pushes that. */
    InReg define(Op op, Kind kind, Operand... args) {
        int dst = method.newRegister(kind);
        append(new Insn(op, kind.wide(), dst, args));
        InReg value = new InReg(dst, kind);
        push(value);
        return value;
    }

    void defineWith(Insn insn, Kind kind) {
        insn.dst = method.newRegister(kind);
        append(insn);
        push(new InReg(insn.dst, kind));
    }

    Operand operand(StackValue value) {
        return switch (value) {
            case InReg reg -> new Reg(reg.id());
            case Constant constant -> new Imm(constant.value());
            case Address address -> new Sym(address.symbol(), 0);
            case Sum sum -> new Reg(toReg(sum).id());
            case Comparison comparison -> new Reg(toReg(comparison).id());
        };
    }

    private InReg toReg(StackValue value) {
        if (value instanceof InReg reg) {
            return reg;
        }
        int dst = method.newRegister(value.kind());
        assign(dst, value.kind(), value);
        return new InReg(dst, value.kind());
    }

    private InReg copy(StackValue value) {
        int dst = method.newRegister(value.kind());
        assign(dst, value.kind(), value);
        return new InReg(dst, value.kind());
    }

    private void assign(int dst, Kind kind, StackValue value) {
        switch (value) {
            case Sum sum -> append(new Insn(Op.ADD, true, dst, new Reg(sum.base()), new Imm(sum.displacement())));
            case Comparison comparison ->
                append(new Insn(
                        comparison.unsigned() ? Op.UCOMPARE : Op.COMPARE,
                        comparison.wide(),
                        dst,
                        comparison.left(),
                        comparison.right()));
            case InReg reg -> append(new Insn(Op.MOVE, kind.wide(), dst, new Reg(reg.id())));
            case Constant constant -> append(new Insn(Op.MOVE, kind.wide(), dst, new Imm(constant.value())));
            case Address address -> append(new Insn(Op.MOVE, kind.wide(), dst, new Sym(address.symbol(), 0)));
        }
    }

    /** Pops an address; sums with a constant become the displacement of {@code access}. */
    Operand popAddress(Insn access) {
        StackValue value = pop();
        if (value instanceof Sum sum) {
            access.displacement = sum.displacement();
            return new Reg(sum.base());
        }
        return operand(value);
    }

    int popConstant(String what) {
        if (pop() instanceof Constant constant && constant.value() == (int) constant.value()) {
            return (int) constant.value();
        }
        throw unsupported("a variable as " + what + " (allowed: a constant)");
    }

    String popText(String what) {
        if (pop() instanceof Address address) {
            return program.text(address.symbol())
                    .orElseThrow(() -> unsupported("an address as " + what + " (allowed: a string literal)"));
        }
        throw unsupported("a variable as " + what + " (allowed: a string literal)");
    }

    Program program() {
        return program;
    }

    // ---- instructions

    private void translate(Instruction instruction) {
        switch (instruction) {
            case ConstantInstruction constant -> constant(constant);
            case LoadInstruction load -> {
                Kind kind = kind(load.typeKind(), "a local variable");
                push(new InReg(local(load.slot(), kind), kind));
            }
            case StoreInstruction store -> store(store.slot(), kind(store.typeKind(), "a local variable"));
            case IncrementInstruction increment -> {
                int register = local(increment.slot(), Kind.INT);
                saveFromStack(register);
                append(new Insn(Op.ADD, false, register, new Reg(register), new Imm(increment.constant())));
            }
            case OperatorInstruction operator -> operator(operator.opcode());
            case ConvertInstruction convert -> convert(convert);
            case BranchInstruction branch -> branch(branch);
            case TableSwitchInstruction table -> switchTo(table.cases(), table.defaultTarget());
            case LookupSwitchInstruction lookup -> switchTo(lookup.cases(), lookup.defaultTarget());
            case ReturnInstruction result -> {
                if (result.opcode() == Opcode.RETURN) {
                    append(new Insn(Op.RETURN, false, Insn.NO_RESULT));
                } else {
                    StackValue value = pop();
                    append(new Insn(Op.RETURN, value.kind().wide(), Insn.NO_RESULT, operand(value)));
                }
                reachable = false;
            }
            case FieldInstruction field -> field(field);
            case InvokeInstruction invoke -> invoke(invoke);
            case InvokeDynamicInstruction dynamic -> invokeDynamic(dynamic);
            case StackInstruction shuffle -> shuffle(shuffle.opcode());
            case NopInstruction nop -> {}
            case NewObjectInstruction object ->
                throw unsupported(
                        "object creation (new " + name(object.className().asSymbol()) + ")");
            default -> throw unsupported(construct(instruction.opcode()));
        }
    }

    private static String construct(Opcode opcode) {
        String mnemonic = opcode.name().toLowerCase(java.util.Locale.ROOT);
        return switch (opcode.kind()) {
            case NEW_REF_ARRAY, NEW_PRIMITIVE_ARRAY, NEW_MULTI_ARRAY -> "array creation (" + mnemonic + ")";
            case ARRAY_LOAD, ARRAY_STORE -> "array access (" + mnemonic + ")";
            case THROW_EXCEPTION -> "throwing an exception";
            case MONITOR -> "synchronized (" + mnemonic + ")";
            case TYPE_CHECK -> "a type test (" + mnemonic + ")";
            default -> "the instruction " + mnemonic;
        };
    }

    private void constant(ConstantInstruction constant) {
        switch (constant.constantValue()) {
            case Integer value -> push(new Constant(value, Kind.INT));
            case Long value -> push(new Constant(value, Kind.LONG));
            case String text -> push(new Address(program.textSymbol(text), Kind.REFERENCE));
            case Float value -> throw unsupported("the floating point constant " + value);
            case Double value -> throw unsupported("the floating point constant " + value);
            default ->
                throw unsupported(constant.opcode() == Opcode.ACONST_NULL ? "null" : "a class or method constant");
        }
    }

    private void store(int slot, Kind kind) {
        int register = local(slot, kind);
        StackValue value = pop();
        boolean referenced = stack.stream().anyMatch(entry -> entry.uses(register));
        if (!referenced && value instanceof InReg reg && retarget(reg.id(), register)) {
            return;
        }
        saveFromStack(register);
        assign(register, kind, value);
    }

    /** Lets the instruction just emitted write straight to {@code register} if its result has no other reader. */
    private boolean retarget(int temporary, int register) {
        if (current.insns.isEmpty()
                || current.insns.getLast().dst != temporary
                || locals.containsValue(temporary)
                || joins.containsValue(temporary)
                || stack.stream().anyMatch(entry -> entry.uses(temporary))) {
            return false;
        }
        current.insns.getLast().dst = register;
        return true;
    }

    /** Copies stack entries that still refer to {@code register}, which is about to change. */
    private void saveFromStack(int register) {
        for (int i = 0; i < stack.size(); i++) {
            if (stack.get(i).uses(register)) {
                stack.set(i, copy(stack.get(i)));
            }
        }
    }

    private void operator(Opcode opcode) {
        switch (opcode) {
            case IADD -> binary(Op.ADD, Kind.INT);
            case LADD -> addLong();
            case ISUB -> binary(Op.SUB, Kind.INT);
            case LSUB -> binary(Op.SUB, Kind.LONG);
            case IMUL -> binary(Op.MUL, Kind.INT);
            case LMUL -> binary(Op.MUL, Kind.LONG);
            case IDIV -> binary(Op.DIV, Kind.INT);
            case LDIV -> binary(Op.DIV, Kind.LONG);
            case IREM -> binary(Op.REM, Kind.INT);
            case LREM -> binary(Op.REM, Kind.LONG);
            case IAND -> binary(Op.AND, Kind.INT);
            case LAND -> andLong();
            case IOR -> binary(Op.OR, Kind.INT);
            case LOR -> binary(Op.OR, Kind.LONG);
            case IXOR -> binary(Op.XOR, Kind.INT);
            case LXOR -> binary(Op.XOR, Kind.LONG);
            case ISHL -> binary(Op.SHL, Kind.INT);
            case LSHL -> binary(Op.SHL, Kind.LONG);
            case ISHR -> binary(Op.SAR, Kind.INT);
            case LSHR -> binary(Op.SAR, Kind.LONG);
            case IUSHR -> binary(Op.SHR, Kind.INT);
            case LUSHR -> binary(Op.SHR, Kind.LONG);
            case INEG -> unary(Op.NEG, Kind.INT);
            case LNEG -> unary(Op.NEG, Kind.LONG);
            case LCMP -> compare(true, false);
            default -> {
                String mnemonic = opcode.name().toLowerCase(java.util.Locale.ROOT);
                throw unsupported(
                        opcode == Opcode.ARRAYLENGTH
                                ? "array access (arraylength)"
                                : "floating point (" + mnemonic + ")");
            }
        }
    }

    void unary(Op op, Kind kind) {
        define(op, kind, popOperand());
    }

    void binary(Op op, Kind kind) {
        StackValue right = pop();
        StackValue left = pop();
        Operand b = operand(right);
        define(op, kind, operand(left), b);
    }

    private void addLong() {
        StackValue right = pop();
        StackValue left = pop();
        if (left instanceof Constant && !(right instanceof Constant)) {
            StackValue swap = left;
            left = right;
            right = swap;
        }
        if (right instanceof Constant constant && constant.value() == (int) constant.value()) {
            if (left instanceof InReg reg) {
                push(new Sum(reg.id(), (int) constant.value()));
                return;
            }
            if (left instanceof Sum sum
                    && constant.value() + sum.displacement() == (int) (constant.value() + sum.displacement())) {
                push(new Sum(sum.base(), (int) (constant.value() + sum.displacement())));
                return;
            }
        }
        Operand b = operand(right);
        define(Op.ADD, Kind.LONG, operand(left), b);
    }

    private void andLong() {
        StackValue right = pop();
        StackValue left = pop();
        if (right instanceof Constant constant && constant.value() == 0xffff_ffffL) {
            define(Op.ZEXT32, Kind.LONG, operand(left));
            return;
        }
        Operand b = operand(right);
        define(Op.AND, Kind.LONG, operand(left), b);
    }

    /** Pushes a comparison that a following branch can use as it is. */
    void compare(boolean wide, boolean unsigned) {
        Operand right = popOperand();
        Operand left = popOperand();
        push(new Comparison(left, right, wide, unsigned));
    }

    private void convert(ConvertInstruction convert) {
        switch (convert.opcode()) {
            case I2L -> {
                StackValue value = pop();
                if (value instanceof Constant constant) {
                    push(new Constant(constant.value(), Kind.LONG));
                } else {
                    define(Op.SEXT32, Kind.LONG, operand(value));
                }
            }
            case L2I -> {
                StackValue value = pop();
                if (value instanceof Constant constant) {
                    push(new Constant((int) constant.value(), Kind.INT));
                } else {
                    define(Op.MOVE, Kind.INT, operand(value));
                }
            }
            case I2B -> unary(Op.SEXT8, Kind.INT);
            case I2C -> unary(Op.ZEXT16, Kind.INT);
            case I2S -> unary(Op.SEXT16, Kind.INT);
            default ->
                throw unsupported(
                        "floating point (" + convert.opcode().name().toLowerCase(java.util.Locale.ROOT) + ")");
        }
    }

    private void branch(BranchInstruction branch) {
        switch (branch.opcode()) {
            case GOTO, GOTO_W -> {
                jumpTo(blockAt(branch.target()));
                reachable = false;
            }
            case IFEQ -> branchOnZero(Condition.EQUAL, branch);
            case IFNE -> branchOnZero(Condition.NOT_EQUAL, branch);
            case IFLT -> branchOnZero(Condition.LESS, branch);
            case IFGE -> branchOnZero(Condition.GREATER_EQUAL, branch);
            case IFGT -> branchOnZero(Condition.GREATER, branch);
            case IFLE -> branchOnZero(Condition.LESS_EQUAL, branch);
            case IF_ICMPEQ -> branchOnInts(Condition.EQUAL, branch);
            case IF_ICMPNE -> branchOnInts(Condition.NOT_EQUAL, branch);
            case IF_ICMPLT -> branchOnInts(Condition.LESS, branch);
            case IF_ICMPGE -> branchOnInts(Condition.GREATER_EQUAL, branch);
            case IF_ICMPGT -> branchOnInts(Condition.GREATER, branch);
            case IF_ICMPLE -> branchOnInts(Condition.LESS_EQUAL, branch);
            default -> throw unsupported("comparison of references");
        }
    }

    private void branchOnZero(int condition, BranchInstruction branch) {
        StackValue value = pop();
        if (value instanceof Comparison comparison) {
            int code = comparison.unsigned() ? Condition.unsigned(condition) : condition;
            emitBranch(code, comparison.wide(), comparison.left(), comparison.right(), branch);
        } else {
            emitBranch(condition, false, operand(value), new Imm(0), branch);
        }
    }

    private void branchOnInts(int condition, BranchInstruction branch) {
        Operand right = popOperand();
        Operand left = popOperand();
        emitBranch(condition, false, left, right, branch);
    }

    private void emitBranch(int condition, boolean wide, Operand left, Operand right, BranchInstruction branch) {
        Operand safeLeft = beforeFlush(left, wide);
        Operand safeRight = beforeFlush(right, wide);
        Ir.Block taken = blockAt(branch.target());
        Ir.Block next = newBlock();
        flushStack(taken, next);
        Insn insn = new Insn(Op.BRANCH, wide, Insn.NO_RESULT, safeLeft, safeRight);
        insn.detail = condition;
        insn.targets = new int[] {taken.id, next.id};
        append(insn);
        enter(next);
    }

    /** Flushing the stack may overwrite join registers: operands that live there move away first. */
    private Operand beforeFlush(Operand operand, boolean wide) {
        if (!stack.isEmpty() && operand instanceof Reg reg && joins.containsValue(reg.id())) {
            int dst = method.newRegister(wide ? Kind.LONG : Kind.INT);
            append(new Insn(Op.MOVE, wide, dst, operand));
            return new Reg(dst);
        }
        return operand;
    }

    private void switchTo(List<SwitchCase> cases, Label defaultTarget) {
        Operand selector = beforeFlush(popOperand(), false);
        Insn insn = new Insn(Op.SWITCH, false, Insn.NO_RESULT, selector);
        insn.keys = cases.stream().mapToInt(SwitchCase::caseValue).toArray();
        insn.targets = new int[cases.size() + 1];
        for (int i = 0; i < cases.size(); i++) {
            insn.targets[i] = blockAt(cases.get(i).target()).id;
        }
        insn.targets[cases.size()] = blockAt(defaultTarget).id;
        Ir.Block[] targets = new Ir.Block[insn.targets.length];
        for (int i = 0; i < targets.length; i++) {
            targets[i] = method.blocks.get(insn.targets[i]);
        }
        flushStack(targets);
        append(insn);
        reachable = false;
    }

    private void field(FieldInstruction field) {
        if (field.opcode() != Opcode.GETSTATIC && field.opcode() != Opcode.PUTSTATIC) {
            throw unsupported("an instance field (" + field.name().stringValue() + ")");
        }
        String type = field.type().stringValue();
        if (type.length() != 1 || "ZBCSIJ".indexOf(type.charAt(0)) < 0) {
            throw unsupported("the static field " + shown(field) + " of type " + name(field.typeSymbol()));
        }
        if (field.owner().asInternalName().startsWith("java/")) {
            throw unsupported("the static field " + shown(field) + " of the Java library");
        }
        String owner = field.owner().asInternalName();
        String fieldName = field.name().stringValue();
        program.unit(owner, () -> unsupported("the unknown static field " + shown(field)));
        if (field.opcode() == Opcode.GETSTATIC
                && program.constantField(owner, fieldName).isPresent()) {
            push(program.constantField(owner, fieldName).orElseThrow());
            return;
        }
        if (field.opcode() == Opcode.PUTSTATIC
                && owner.equals(unit.internalName())
                && model.methodName().equalsString("<clinit>")
                && current.id == 0
                && (stack.getLast() instanceof Constant || stack.getLast() instanceof Address)
                && program.declareConstant(unit, fieldName, stack.getLast())) {
            pop();
            return;
        }
        int width = width(type);
        String symbol = program.fieldSymbol(
                owner, fieldName, type, width & 15, () -> unsupported("the unknown static field " + shown(field)));
        if (field.opcode() == Opcode.GETSTATIC) {
            Insn load = new Insn(Op.LOAD, false, Insn.NO_RESULT, new Sym(symbol, 0));
            load.detail = width;
            defineWith(load, width == Ir.WORD64 ? Kind.LONG : Kind.INT);
        } else {
            Insn store = new Insn(Op.STORE, false, Insn.NO_RESULT, new Sym(symbol, 0), popOperand());
            store.detail = width & 15;
            append(store);
        }
    }

    private static String shown(FieldInstruction field) {
        return name(field.owner().asSymbol()) + "." + field.name().stringValue();
    }

    private static int width(String type) {
        return switch (type) {
            case "Z", "B" -> Ir.SIGNED8;
            case "C" -> Ir.UNSIGNED16;
            case "S" -> Ir.SIGNED16;
            case "I" -> Ir.WORD32;
            default -> Ir.WORD64;
        };
    }

    private void invoke(InvokeInstruction invoke) {
        String owner = invoke.owner().asInternalName();
        if (invoke.opcode() != Opcode.INVOKESTATIC) {
            throw unsupported("a call of the instance method " + target(invoke));
        }
        MethodTypeDesc type = program.methodType(invoke.type().stringValue());
        if (Intrinsics.translate(this, owner, invoke.name().stringValue(), type)) {
            return;
        }
        Kind result = checkType(type.returnType());
        type.parameterList().forEach(this::checkType);
        String symbol = program.methodSymbol(
                owner,
                invoke.name().stringValue(),
                invoke.type().stringValue(),
                () -> unsupported("a call of " + target(invoke) + ", which is unknown or has no bytecode"));
        program.noteCaller(
                symbol, () -> unit.internalName().startsWith("java/") ? program.caller(method.symbol) : place());
        call(new Insn(Op.CALL, result.wide(), Insn.NO_RESULT), symbol, type.parameterCount(), type.returnType());
    }

    private static String target(InvokeInstruction invoke) {
        return name(invoke.owner().asSymbol()) + "." + invoke.name().stringValue();
    }

    void call(Insn call, String symbol, int parameterCount, ClassDesc returnType) {
        Operand[] args = new Operand[parameterCount];
        for (int i = args.length - 1; i >= 0; i--) {
            args[i] = popOperand();
        }
        call.args = args;
        call.symbol = symbol;
        if (returnType.equals(ConstantDescs.CD_void)) {
            append(call);
        } else {
            defineWith(call, checkType(returnType));
        }
    }

    private void invokeDynamic(InvokeDynamicInstruction dynamic) {
        if (dynamic.typeSymbol().returnType().equals(TASK)
                && dynamic.typeSymbol().parameterCount() == 0
                && dynamic.bootstrapArgs().size() == 3
                && dynamic.bootstrapArgs().get(1) instanceof DirectMethodHandleDesc handle
                && handle.kind() == DirectMethodHandleDesc.Kind.STATIC) {
            String owner = internalName(handle.owner());
            push(new Address(
                    program.methodSymbol(
                            owner,
                            handle.methodName(),
                            handle.lookupDescriptor(),
                            () -> unsupported("a reference to the unknown method " + handle.methodName())),
                    Kind.REFERENCE));
            return;
        }
        String bootstrap = dynamic.bootstrapMethod().methodName();
        throw unsupported(bootstrap.startsWith("makeConcat") ? "string concatenation" : "a lambda or dynamic call");
    }

    private void shuffle(Opcode opcode) {
        int top = stack.size() - 1;
        switch (opcode) {
            case POP -> pop();
            case POP2 -> {
                if (pop().kind() != Kind.LONG) {
                    pop();
                }
            }
            case DUP -> {
                settle(top);
                push(stack.get(top));
            }
            case DUP2 -> {
                settle(top);
                if (stack.get(top).kind() == Kind.LONG) {
                    push(stack.get(top));
                } else {
                    settle(top - 1);
                    push(stack.get(top - 1));
                    push(stack.get(top));
                }
            }
            case DUP_X1 -> insertBelow(1, 1);
            case DUP_X2 -> insertBelow(1, stack.get(top - 1).kind() == Kind.LONG ? 1 : 2);
            case DUP2_X1 -> insertBelow(stack.get(top).kind() == Kind.LONG ? 1 : 2, 1);
            case DUP2_X2 -> {
                int copied = stack.get(top).kind() == Kind.LONG ? 1 : 2;
                insertBelow(copied, stack.get(top - copied).kind() == Kind.LONG ? 1 : 2);
            }
            case SWAP -> {
                StackValue value = pop();
                stack.add(stack.size() - 1, value);
            }
            default -> throw unsupported("the instruction " + opcode);
        }
    }

    /** Copies the top {@code copied} entries below the {@code skipped} entries under them. */
    private void insertBelow(int copied, int skipped) {
        int top = stack.size();
        for (int i = top - copied; i < top; i++) {
            settle(i);
        }
        stack.addAll(top - copied - skipped, List.copyOf(stack.subList(top - copied, top)));
    }

    /** Computes a lazily held entry before it is duplicated. */
    private void settle(int index) {
        StackValue value = stack.get(index);
        if (value instanceof Sum || value instanceof Comparison) {
            stack.set(index, toReg(value));
        }
    }

    // ---- types and errors

    /** The kind of a parameter, result or local; void counts as int. */
    private Kind checkType(ClassDesc type) {
        String descriptor = type.descriptorString();
        return switch (descriptor.charAt(0)) {
            case 'Z', 'B', 'C', 'S', 'I', 'V' -> Kind.INT;
            case 'J' -> Kind.LONG;
            case 'F', 'D' -> throw unsupported("floating point");
            default -> {
                if (type.equals(ConstantDescs.CD_String) || type.equals(TASK)) {
                    yield Kind.REFERENCE;
                }
                throw unsupported("a parameter or result of type " + name(type));
            }
        };
    }

    private Kind kind(TypeKind type, String what) {
        return switch (type) {
            case INT, BOOLEAN, BYTE, CHAR, SHORT -> Kind.INT;
            case LONG -> Kind.LONG;
            case REFERENCE -> Kind.REFERENCE;
            case FLOAT, DOUBLE -> throw unsupported("floating point in " + what);
            case VOID -> throw unsupported(what + " of type void");
        };
    }

    static String name(ClassDesc type) {
        if (type.isArray()) {
            return name(type.componentType()) + "[]";
        }
        return type.isPrimitive() || type.packageName().isEmpty()
                ? type.displayName()
                : type.packageName() + "." + type.displayName();
    }

    static String internalName(ClassDesc type) {
        String descriptor = type.descriptorString();
        return descriptor.substring(1, descriptor.length() - 1);
    }

    /** {@code package.Class.method(parameters) (File.java:LINE)}. */
    private String place() {
        String parameters = program.methodType(model.methodType().stringValue()).parameterList().stream()
                .map(Translator::name)
                .collect(Collectors.joining(", "));
        String where = unit.sourceFile().isEmpty() ? "line " + line : unit.sourceFile() + ":" + line;
        return unit.binaryName() + "." + model.methodName().stringValue() + "(" + parameters + ") (" + where + ")";
    }

    RuntimeException unsupported(String what) {
        String caller = unit.internalName().startsWith("java/") ? program.caller(method.symbol) : "";
        return BenchtopException.of(
                ErrorKind.CONFIG,
                place() + ": guest code cannot use " + what + (caller.isEmpty() ? "" : ", called from " + caller),
                Map.of(
                        "class",
                        unit.binaryName(),
                        "method",
                        model.methodName().stringValue(),
                        "file",
                        unit.sourceFile(),
                        "line",
                        line,
                        "construct",
                        what),
                null);
    }
}
