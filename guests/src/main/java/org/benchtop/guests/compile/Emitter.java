package org.benchtop.guests.compile;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.guests.GuestLayout;
import org.benchtop.guests.compile.Assembler.Fixup;
import org.benchtop.guests.compile.Assembler.FixupKind;
import org.benchtop.guests.compile.Assembler.Mem;
import org.benchtop.guests.compile.Ir.Imm;
import org.benchtop.guests.compile.Ir.Insn;
import org.benchtop.guests.compile.Ir.Op;
import org.benchtop.guests.compile.Ir.Operand;
import org.benchtop.guests.compile.Ir.Reg;
import org.benchtop.guests.compile.Ir.Sym;

/**
 * Emits machine code for one method.
 *
 * <p>Calls pass six arguments in {@link Allocator#ARGUMENTS} and the rest at the bottom of the caller's frame; the
 * result is in RAX. The upper half of a register that holds an {@code int} is undefined.
 */
final class Emitter {
    private static final int RAX = Assembler.RAX;
    private static final int RCX = Assembler.RCX;
    private static final int RDX = Assembler.RDX;
    private static final int RSP = Assembler.RSP;
    private static final int RSI = Assembler.RSI;
    private static final int RDI = Assembler.RDI;

    private record JumpTable(int useOffset, int[] targets) {}

    private record RegisterMove(int target, int source) {}

    private final Ir.Method method;
    private final Allocator.Result allocation;
    private final Assembler asm = new Assembler();
    private final int[] labels;
    private final List<Integer> saved = new ArrayList<>();
    private final List<JumpTable> tables = new ArrayList<>();
    private final List<CodeBlob.Line> lines = new ArrayList<>();
    private int outgoing;
    private int frame;

    private Emitter(Ir.Method method, Allocator.Result allocation) {
        this.method = method;
        this.allocation = allocation;
        this.labels = new int[method.blocks.size()];
    }

    static CodeBlob emit(Ir.Method method) {
        return new Emitter(method, Allocator.allocate(method)).run();
    }

    private CodeBlob run() {
        for (int i = 0; i < labels.length; i++) {
            labels[i] = asm.newLabel();
        }
        prologue();
        List<Ir.Block> layout = method.layout;
        int lastLine = -1;
        for (int i = 0; i < layout.size(); i++) {
            Ir.Block block = layout.get(i);
            asm.bind(labels[block.id]);
            int next = i + 1 < layout.size() ? layout.get(i + 1).id : -1;
            for (Insn insn : block.insns) {
                if (insn.line != lastLine && insn.line > 0) {
                    lines.add(new CodeBlob.Line(asm.position(), insn.line));
                    lastLine = insn.line;
                }
                emit(insn, next);
            }
        }
        List<Fixup> tableFixups = jumpTables();
        byte[] code = asm.finish();
        List<Fixup> fixups = new ArrayList<>(asm.fixups());
        fixups.addAll(tableFixups);
        return new CodeBlob(method.symbol, code, fixups, lines);
    }

    private void prologue() {
        for (int register : Allocator.CALLEE_SAVED) {
            if ((allocation.usedRegisters() >> register & 1) != 0) {
                saved.add(register);
                asm.push(register);
            }
        }
        for (Ir.Block block : method.blocks) {
            for (Insn insn : block.insns) {
                if (insn.op == Op.CALL) {
                    outgoing = Math.max(outgoing, insn.args.length - Allocator.ARGUMENTS.length);
                }
            }
        }
        frame = 8 * (outgoing + allocation.slots());
        if (frame != 0) {
            asm.aluImmediate(Assembler.SUB, true, RSP, frame);
        }
        receiveParameters();
    }

    private void receiveParameters() {
        List<RegisterMove> moves = new ArrayList<>();
        int registers = Math.min(method.parameters.size(), Allocator.ARGUMENTS.length);
        for (int i = 0; i < registers; i++) {
            int parameter = method.parameters.get(i);
            if (!allocation.liveAtEntry().get(parameter)) {
                continue;
            }
            if (inRegister(parameter)) {
                moves.add(new RegisterMove(location(parameter), Allocator.ARGUMENTS[i]));
            } else {
                asm.store(wide(parameter), slot(parameter), Allocator.ARGUMENTS[i]);
            }
        }
        moveTogether(moves);
        for (int i = registers; i < method.parameters.size(); i++) {
            int parameter = method.parameters.get(i);
            if (!allocation.liveAtEntry().get(parameter)) {
                continue;
            }
            Mem source = Mem.at(RSP, frame + 8 * (saved.size() + 1 + i - registers));
            int target = inRegister(parameter) ? location(parameter) : RAX;
            asm.load(wide(parameter), target, source);
            if (!inRegister(parameter)) {
                asm.store(wide(parameter), slot(parameter), RAX);
            }
        }
    }

    private List<Fixup> jumpTables() {
        List<Fixup> fixups = new ArrayList<>();
        for (JumpTable table : tables) {
            asm.align(8, 0xcc);
            fixups.add(new Fixup(table.useOffset, FixupKind.ABS32, method.symbol, asm.position()));
            for (int target : table.targets) {
                asm.symbol64(method.symbol, asm.labelPosition(labels[target]));
            }
        }
        return fixups;
    }

    // ---- places

    private int location(int register) {
        return allocation.locations()[register];
    }

    private boolean inRegister(int register) {
        return location(register) >= 0;
    }

    private boolean inRegister(Operand operand, int physical) {
        return operand instanceof Reg reg && location(reg.id()) == physical;
    }

    private Mem slot(int register) {
        return Mem.at(RSP, 8 * (outgoing - 1 - location(register)));
    }

    private boolean wide(int register) {
        return method.registers.get(register).wide();
    }

    private int target(Insn insn) {
        return inRegister(insn.dst) ? location(insn.dst) : RAX;
    }

    /** Writes {@code physical} to the result's place unless it is already there. */
    private void finish(Insn insn, int physical) {
        if (insn.dst < 0) {
            return;
        }
        if (!inRegister(insn.dst)) {
            asm.store(wide(insn.dst), slot(insn.dst), physical);
        } else if (location(insn.dst) != physical) {
            asm.mov(wide(insn.dst), location(insn.dst), physical);
        }
    }

    private void moveTo(int physical, Operand operand, boolean wide) {
        switch (operand) {
            case Imm imm -> asm.movImmediate(physical, wide ? imm.value() : imm.value() & 0xffff_ffffL);
            case Sym sym -> asm.movSymbol(physical, sym.name(), sym.addend());
            case Reg reg -> {
                if (!inRegister(reg.id())) {
                    asm.load(wide, physical, slot(reg.id()));
                } else if (location(reg.id()) != physical) {
                    asm.mov(wide, physical, location(reg.id()));
                }
            }
        }
    }

    /** The register that holds the operand, which is loaded into {@code scratch} if it has none. */
    private int use(Operand operand, boolean wide, int scratch) {
        if (operand instanceof Reg reg && inRegister(reg.id())) {
            return location(reg.id());
        }
        moveTo(scratch, operand, wide);
        return scratch;
    }

    private static boolean small(Operand operand, boolean wide) {
        return operand instanceof Imm imm && (!wide || imm.value() == (int) imm.value());
    }

    private static int value(Operand operand) {
        return operand instanceof Imm imm ? (int) imm.value() : 0;
    }

    private Mem address(Insn insn, int scratch) {
        return switch (insn.args[0]) {
            case Sym sym -> Mem.symbol(sym.name(), sym.addend() + insn.displacement);
            case Imm imm ->
                imm.value() >= 0 && imm.value() <= Integer.MAX_VALUE
                        ? Mem.absolute((int) imm.value())
                        : Mem.at(use(imm, true, scratch), insn.displacement);
            case Reg reg -> Mem.at(use(reg, true, scratch), insn.displacement);
        };
    }

    /** Moves registers to registers as if all at once. */
    private void moveTogether(List<RegisterMove> moves) {
        List<RegisterMove> pending = new ArrayList<>(moves);
        pending.removeIf(move -> move.target == move.source);
        while (!pending.isEmpty()) {
            boolean progress = false;
            for (int i = 0; i < pending.size(); i++) {
                RegisterMove move = pending.get(i);
                if (pending.stream().noneMatch(other -> other.source == move.target)) {
                    asm.mov(true, move.target, move.source);
                    pending.remove(i);
                    progress = true;
                    break;
                }
            }
            if (!progress) {
                RegisterMove first = pending.getFirst();
                asm.mov(true, RAX, first.source);
                pending.replaceAll(move -> move.source == first.source ? new RegisterMove(move.target, RAX) : move);
            }
        }
    }

    /** Puts operands into fixed registers as if all at once. */
    private void place(Operand[] operands, int first, int... registers) {
        List<RegisterMove> moves = new ArrayList<>();
        for (int i = 0; i < registers.length; i++) {
            if (operands[first + i] instanceof Reg reg && inRegister(reg.id())) {
                moves.add(new RegisterMove(registers[i], location(reg.id())));
            }
        }
        moveTogether(moves);
        for (int i = 0; i < registers.length; i++) {
            Operand operand = operands[first + i];
            if (!(operand instanceof Reg reg && inRegister(reg.id()))) {
                moveTo(registers[i], operand, true);
            }
        }
    }

    // ---- instructions

    private void emit(Insn insn, int next) {
        switch (insn.op) {
            case MOVE -> move(insn);
            case ADD -> add(insn);
            case SUB -> alu(insn, Assembler.SUB);
            case AND -> alu(insn, Assembler.AND);
            case OR -> alu(insn, Assembler.OR);
            case XOR -> alu(insn, Assembler.XOR);
            case MUL -> multiply(insn);
            case SHL -> shift(insn, Assembler.SHL);
            case SAR -> shift(insn, Assembler.SAR);
            case SHR -> shift(insn, Assembler.SHR);
            case ROL -> shift(insn, Assembler.ROL);
            case NEG -> {
                int target = target(insn);
                moveTo(target, insn.args[0], insn.wide);
                asm.neg(insn.wide, target);
                finish(insn, target);
            }
            case BSWAP -> {
                int target = target(insn);
                moveTo(target, insn.args[0], insn.wide);
                asm.bswap(insn.wide, target);
                finish(insn, target);
            }
            case DIV, REM -> divide(insn);
            case UDIV, UREM -> {
                moveTo(RCX, insn.args[1], insn.wide);
                moveTo(RAX, insn.args[0], insn.wide);
                asm.movImmediate(RDX, 0);
                asm.rr(insn.wide, 0xf7, 6, RCX);
                finish(insn, insn.op == Op.UDIV ? RAX : RDX);
            }
            case DIVIDE128 -> {
                moveTo(RCX, insn.args[2], true);
                moveTo(RAX, insn.args[1], true);
                moveTo(RDX, insn.args[0], true);
                asm.rr(true, 0xf7, 6, RCX);
                finish(insn, RAX);
            }
            case MULHI, UMULHI -> {
                moveTo(RAX, insn.args[0], true);
                asm.rr(true, 0xf7, insn.op == Op.MULHI ? 5 : 4, use(insn.args[1], true, RCX));
                finish(insn, RDX);
            }
            case SEXT8 -> extend(insn, 0x0fbe, false);
            case SEXT16 -> extend(insn, 0x0fbf, false);
            case ZEXT16 -> extend(insn, 0x0fb7, false);
            case SEXT32 -> extend(insn, 0x63, true);
            case ZEXT32 -> {
                int target = target(insn);
                if (inRegister(insn.args[0], target)) {
                    asm.mov(false, target, target);
                } else {
                    moveTo(target, insn.args[0], false);
                }
                finish(insn, target);
            }
            case MIN -> select(insn, Condition.LESS);
            case MAX -> select(insn, Condition.GREATER);
            case LEADING_ZEROS, TRAILING_ZEROS -> countZeros(insn);
            case COMPARE, UCOMPARE -> compareToInt(insn);
            case LOAD -> load(insn);
            case STORE -> store(insn);
            case CALL -> call(insn);
            case CALL_TASK -> {
                moveTo(RDX, insn.args[0], true);
                place(insn.args, 1, RDI);
                asm.rr(false, 0xff, 2, RDX);
            }
            case RETURN -> {
                if (insn.args.length > 0) {
                    moveTo(RAX, insn.args[0], insn.wide);
                }
                epilogue();
            }
            case JUMP -> {
                if (insn.targets[0] != next) {
                    asm.jmp(labels[insn.targets[0]]);
                }
            }
            case BRANCH -> branch(insn, next);
            case SWITCH -> switchTo(insn, next);
            case IN -> {
                portNumber(insn.args[0]);
                asm.emit(in(insn.detail));
                if (insn.detail == Ir.UNSIGNED8) {
                    asm.rr(0, false, 0x0fb6, RAX, RAX, true);
                } else if (insn.detail == Ir.UNSIGNED16) {
                    asm.rr(false, 0x0fb7, RAX, RAX);
                }
                finish(insn, RAX);
            }
            case OUT -> {
                moveTo(RAX, insn.args[1], false);
                portNumber(insn.args[0]);
                asm.emit(out(insn.detail));
            }
            case INS16 -> {
                place(insn.args, 0, RDX, RDI, RCX);
                asm.emit(0x66, 0xf3, 0x6d);
            }
            case OUTS16 -> {
                place(insn.args, 0, RDX, RSI, RCX);
                asm.emit(0x66, 0xf3, 0x6f);
            }
            case TSC, TSC_ORDERED -> {
                if (insn.op == Op.TSC_ORDERED) {
                    asm.emit(0x0f, 0xae, 0xe8);
                }
                asm.emit(0x0f, 0x31);
                joinHalves(insn);
            }
            case PAUSE -> asm.emit(0xf3, 0x90);
            case FENCE -> asm.emit(0x0f, 0xae, 0xf0);
            case CPUID -> {
                place(insn.args, 0, RAX, RCX);
                asm.push(Assembler.RBX);
                asm.emit(0x0f, 0xa2);
                int[] results = {RAX, Assembler.RBX, RCX, RDX};
                if (insn.detail != 0) {
                    asm.mov(false, RAX, results[insn.detail]);
                }
                asm.pop(Assembler.RBX);
                finish(insn, RAX);
            }
            case RDMSR -> {
                moveTo(RCX, insn.args[0], false);
                monitorCall(Monitor.CALL_READ_MSR);
                joinHalves(insn);
            }
            case WRMSR -> {
                moveTo(RCX, insn.args[0], false);
                moveTo(RDX, insn.args[1], true);
                monitorCall(Monitor.CALL_WRITE_MSR);
            }
            case WAIT -> {
                place(insn.args, 0, RDI, RSI);
                monitorCall(Monitor.CALL_WAIT);
            }
            case PARK -> monitorCall(Monitor.CALL_PARK);
            case STI -> monitorCall(Monitor.CALL_INTERRUPTS_ON);
            case CLI -> monitorCall(Monitor.CALL_INTERRUPTS_OFF);
            case FLUSH_TLB -> monitorCall(Monitor.CALL_FLUSH_TLB);
            case CAS -> {
                moveTo(RAX, insn.args[1], insn.wide);
                int value = use(insn.args[2], insn.wide, RCX);
                int address = use(insn.args[0], true, RDX);
                asm.emit8(0xf0);
                asm.rm(insn.wide, 0x0fb1, value, Mem.at(address, 0));
                asm.emit(0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0);
                finish(insn, RAX);
            }
            case XADD, XCHG -> {
                moveTo(RAX, insn.args[1], insn.wide);
                int address = use(insn.args[0], true, RDX);
                if (insn.op == Op.XADD) {
                    asm.emit8(0xf0);
                }
                asm.rm(insn.wide, insn.op == Op.XADD ? 0x0fc1 : 0x87, RAX, Mem.at(address, 0));
                finish(insn, RAX);
            }
            case COPY -> {
                place(insn.args, 0, RDI, RSI, RCX);
                asm.emit(0xf3, 0xa4);
            }
            case FILL8 -> {
                place(insn.args, 0, RDI, RDX, RCX);
                asm.mov(false, RAX, RDX);
                asm.emit(0xf3, 0xaa);
            }
            case FILL64 -> {
                place(insn.args, 0, RDI, RDX, RCX);
                asm.mov(true, RAX, RDX);
                asm.emit(0xf3, 0x48, 0xab);
            }
            case CPU -> {
                int target = target(insn);
                asm.mov(false, target, RSP);
                asm.shiftImmediate(Assembler.SHR, false, target, 16);
                asm.aluImmediate(Assembler.SUB, false, target, (int) (GuestLayout.STACKS >> 16));
                finish(insn, target);
            }
        }
    }

    private void monitorCall(int function) {
        asm.movImmediate(RAX, function);
        asm.emit(0x0f, 0x0b);
    }

    private void epilogue() {
        if (frame != 0) {
            asm.aluImmediate(Assembler.ADD, true, RSP, frame);
        }
        for (int register : saved.reversed()) {
            asm.pop(register);
        }
        asm.ret();
    }

    private void move(Insn insn) {
        if (inRegister(insn.dst)) {
            moveTo(location(insn.dst), insn.args[0], insn.wide);
        } else if (small(insn.args[0], insn.wide)) {
            asm.storeImmediate(insn.wide, slot(insn.dst), value(insn.args[0]));
        } else if (!(insn.args[0] instanceof Reg source && location(source.id()) == location(insn.dst))) {
            asm.store(insn.wide, slot(insn.dst), use(insn.args[0], insn.wide, RAX));
        }
    }

    private void add(Insn insn) {
        Operand a = insn.args[0];
        Operand b = insn.args[1];
        if (!(a instanceof Reg)) {
            Operand swap = a;
            a = b;
            b = swap;
        }
        if (inRegister(insn.dst)
                && a instanceof Reg left
                && inRegister(left.id())
                && location(left.id()) != location(insn.dst)) {
            int base = location(left.id());
            int target = location(insn.dst);
            if (small(b, insn.wide)) {
                asm.lea(insn.wide, target, Mem.at(base, value(b)));
                return;
            }
            if (b instanceof Sym sym) {
                asm.lea(true, target, new Mem(base, -1, 0, sym.addend(), sym.name()));
                return;
            }
            if (b instanceof Reg right && inRegister(right.id()) && location(right.id()) != target) {
                asm.lea(insn.wide, target, new Mem(base, location(right.id()), 0, 0, null));
                return;
            }
        }
        alu(insn, Assembler.ADD);
    }

    private void alu(Insn insn, int operation) {
        Operand a = insn.args[0];
        Operand b = insn.args[1];
        boolean wide = insn.wide;
        if (insn.op.commutative() && !(a instanceof Reg) && b instanceof Reg) {
            Operand swap = a;
            a = b;
            b = swap;
        }
        if (!inRegister(insn.dst) && a instanceof Reg reg && location(reg.id()) == location(insn.dst)) {
            if (small(b, wide)) {
                asm.aluImmediate(operation, wide, slot(insn.dst), value(b));
            } else {
                asm.aluStore(operation, wide, slot(insn.dst), use(b, wide, RCX));
            }
            return;
        }
        int target = target(insn);
        if (inRegister(b, target) && !inRegister(a, target)) {
            if (insn.op.commutative()) {
                Operand swap = a;
                a = b;
                b = swap;
            } else {
                target = RAX;
            }
        }
        moveTo(target, a, wide);
        applyAlu(operation, wide, target, b);
        finish(insn, target);
    }

    private void applyAlu(int operation, boolean wide, int target, Operand b) {
        if (small(b, wide)) {
            asm.aluImmediate(operation, wide, target, value(b));
        } else if (b instanceof Reg reg && !inRegister(reg.id())) {
            asm.aluLoad(operation, wide, target, slot(reg.id()));
        } else {
            asm.alu(operation, wide, target, use(b, wide, RCX));
        }
    }

    private void multiply(Insn insn) {
        Operand a = insn.args[0];
        Operand b = insn.args[1];
        if (!(a instanceof Reg)) {
            Operand swap = a;
            a = b;
            b = swap;
        }
        int target = target(insn);
        if (b instanceof Imm imm && Long.bitCount(imm.value()) == 1 && imm.value() > 0) {
            moveTo(target, a, insn.wide);
            asm.shiftImmediate(Assembler.SHL, insn.wide, target, Long.numberOfTrailingZeros(imm.value()));
        } else if (small(b, insn.wide)) {
            asm.mulImmediate(insn.wide, target, use(a, insn.wide, RCX), value(b));
        } else {
            if (inRegister(b, target)) {
                Operand swap = a;
                a = b;
                b = swap;
            }
            int right = use(b, insn.wide, RCX);
            moveTo(target, a, insn.wide);
            asm.rr(insn.wide, 0x0faf, target, right);
        }
        finish(insn, target);
    }

    private void shift(Insn insn, int operation) {
        int target = target(insn);
        if (insn.args[1] instanceof Imm count) {
            moveTo(target, insn.args[0], insn.wide);
            int bits = (int) count.value() & (insn.wide ? 63 : 31);
            if (bits != 0) {
                asm.shiftImmediate(operation, insn.wide, target, bits);
            }
        } else {
            moveTo(RCX, insn.args[1], false);
            moveTo(target, insn.args[0], insn.wide);
            asm.shiftByCl(operation, insn.wide, target);
        }
        finish(insn, target);
    }

    private void extend(Insn insn, int opcode, boolean wide) {
        int target = target(insn);
        if (insn.args[0] instanceof Reg reg && !inRegister(reg.id())) {
            asm.rm(wide, opcode, target, slot(reg.id()));
        } else {
            asm.rr(0, wide, opcode, target, use(insn.args[0], false, RCX), opcode == 0x0fbe);
        }
        finish(insn, target);
    }

    private void select(Insn insn, int condition) {
        moveTo(RAX, insn.args[0], insn.wide);
        int other = use(insn.args[1], insn.wide, RCX);
        asm.alu(Assembler.CMP, insn.wide, other, RAX);
        asm.rr(insn.wide, 0x0f40 | condition, RAX, other);
        finish(insn, RAX);
    }

    private void countZeros(Insn insn) {
        int bits = insn.wide ? 64 : 32;
        int source = use(insn.args[0], insn.wide, RCX);
        if (insn.op == Op.TRAILING_ZEROS) {
            asm.movImmediate(RAX, bits);
            asm.rr(insn.wide, 0x0fbc, RDX, source);
            asm.rr(false, 0x0f45, RAX, RDX);
        } else {
            asm.movImmediate(RAX, -1);
            asm.rr(insn.wide, 0x0fbd, RDX, source);
            asm.rr(false, 0x0f45, RAX, RDX);
            asm.neg(false, RAX);
            asm.aluImmediate(Assembler.ADD, false, RAX, bits - 1);
        }
        finish(insn, RAX);
    }

    /** Java's three-way comparison: greater minus less. */
    private void compareToInt(Insn insn) {
        boolean unsigned = insn.op == Op.UCOMPARE;
        moveTo(RAX, insn.args[0], insn.wide);
        applyAlu(Assembler.CMP, insn.wide, RAX, insn.args[1]);
        asm.emit(0x0f, 0x90 | (unsigned ? Condition.ABOVE : Condition.GREATER), 0xc0);
        asm.emit(0x0f, 0x90 | (unsigned ? Condition.BELOW : Condition.LESS), 0xc1);
        asm.emit(0x0f, 0xb6, 0xc0, 0x0f, 0xb6, 0xc9);
        asm.alu(Assembler.SUB, false, RAX, RCX);
        finish(insn, RAX);
    }

    private void divide(Insn insn) {
        boolean wide = insn.wide;
        boolean quotient = insn.op == Op.DIV;
        if (insn.args[1] instanceof Imm imm && imm.value() > 0 && Long.bitCount(imm.value()) == 1) {
            divideByPowerOfTwo(insn, Long.numberOfTrailingZeros(imm.value()));
            return;
        }
        moveTo(RCX, insn.args[1], wide);
        moveTo(RAX, insn.args[0], wide);
        boolean constant = insn.args[1] instanceof Imm imm && imm.value() != -1;
        int done = asm.newLabel();
        if (!constant) {
            // The quotient of the smallest value and -1 does not fit and would fault.
            int ordinary = asm.newLabel();
            asm.aluImmediate(Assembler.CMP, wide, RCX, -1);
            asm.jcc(Condition.NOT_EQUAL, ordinary);
            asm.neg(wide, RAX);
            asm.movImmediate(RDX, 0);
            asm.jmp(done);
            asm.bind(ordinary);
        }
        if (wide) {
            asm.emit(0x48);
        }
        asm.emit8(0x99);
        asm.rr(wide, 0xf7, 7, RCX);
        asm.bind(done);
        finish(insn, quotient ? RAX : RDX);
    }

    private void divideByPowerOfTwo(Insn insn, int shift) {
        boolean wide = insn.wide;
        int bits = wide ? 64 : 32;
        moveTo(RCX, insn.args[0], wide);
        if (shift == 0) {
            if (insn.op == Op.REM) {
                asm.movImmediate(RCX, 0);
            }
            finish(insn, RCX);
            return;
        }
        // Negative dividends get the divisor minus one added, so that the shift rounds towards zero.
        asm.mov(wide, RAX, RCX);
        asm.shiftImmediate(Assembler.SAR, wide, RAX, bits - 1);
        asm.shiftImmediate(Assembler.SHR, wide, RAX, bits - shift);
        asm.alu(Assembler.ADD, wide, RAX, RCX);
        if (insn.op == Op.DIV) {
            asm.shiftImmediate(Assembler.SAR, wide, RAX, shift);
            finish(insn, RAX);
        } else {
            asm.shiftImmediate(Assembler.SAR, wide, RAX, shift);
            asm.shiftImmediate(Assembler.SHL, wide, RAX, shift);
            asm.alu(Assembler.SUB, wide, RCX, RAX);
            finish(insn, RCX);
        }
    }

    private void load(Insn insn) {
        int target = insn.dst >= 0 ? target(insn) : RAX;
        Mem address = address(insn, RAX);
        switch (insn.detail) {
            case Ir.UNSIGNED8 -> asm.rm(false, 0x0fb6, target, address);
            case Ir.SIGNED8 -> asm.rm(false, 0x0fbe, target, address);
            case Ir.UNSIGNED16 -> asm.rm(false, 0x0fb7, target, address);
            case Ir.SIGNED16 -> asm.rm(false, 0x0fbf, target, address);
            case Ir.WORD32 -> asm.load(false, target, address);
            default -> asm.load(true, target, address);
        }
        finish(insn, target);
    }

    private void store(Insn insn) {
        Mem address = address(insn, RAX);
        Operand value = insn.args[1];
        boolean wide = insn.detail == Ir.WORD64;
        if (insn.detail >= Ir.WORD32 && small(value, wide)) {
            asm.storeImmediate(wide, address, value(value));
            return;
        }
        int source = use(value, wide, RCX);
        switch (insn.detail) {
            case Ir.UNSIGNED8 -> asm.rm(0, false, 0x88, source, address, true);
            case Ir.UNSIGNED16 -> asm.rm(0x66, false, 0x89, source, address, false);
            default -> asm.store(wide, address, source);
        }
    }

    private void call(Insn insn) {
        Operand[] args = insn.args;
        int registers = Math.min(args.length, Allocator.ARGUMENTS.length);
        for (int i = registers; i < args.length; i++) {
            asm.store(true, Mem.at(RSP, 8 * (i - registers)), use(args[i], true, RAX));
        }
        place(args, 0, java.util.Arrays.copyOf(Allocator.ARGUMENTS, registers));
        asm.call(insn.symbol);
        finish(insn, RAX);
    }

    private void branch(Insn insn, int next) {
        Operand a = insn.args[0];
        Operand b = insn.args[1];
        int condition = insn.detail;
        if (!(a instanceof Reg) && b instanceof Reg) {
            Operand swap = a;
            a = b;
            b = swap;
            condition = Condition.mirrored(condition);
        }
        if (b instanceof Imm imm && imm.value() == 0 && a instanceof Reg reg && inRegister(reg.id())) {
            asm.test(insn.wide, location(reg.id()), location(reg.id()));
        } else if (a instanceof Reg reg && !inRegister(reg.id()) && small(b, insn.wide)) {
            asm.aluImmediate(Assembler.CMP, insn.wide, slot(reg.id()), value(b));
        } else {
            applyAlu(Assembler.CMP, insn.wide, use(a, insn.wide, RAX), b);
        }
        int taken = insn.targets[0];
        int other = insn.targets[1];
        if (taken == next) {
            asm.jcc(Condition.negated(condition), labels[other]);
        } else {
            asm.jcc(condition, labels[taken]);
            if (other != next) {
                asm.jmp(labels[other]);
            }
        }
    }

    private void switchTo(Insn insn, int next) {
        int keys = insn.keys.length;
        int defaultTarget = insn.targets[keys];
        moveTo(RAX, insn.args[0], false);
        Integer[] order = new Integer[keys];
        java.util.Arrays.setAll(order, i -> i);
        java.util.Arrays.sort(order, (x, y) -> Integer.compare(insn.keys[x], insn.keys[y]));
        long low = keys == 0 ? 0 : insn.keys[order[0]];
        long span = keys == 0 ? 0 : insn.keys[order[keys - 1]] - low + 1;
        if (keys >= 5 && span <= 3L * keys) {
            int[] targets = new int[(int) span];
            java.util.Arrays.fill(targets, defaultTarget);
            for (int i = 0; i < keys; i++) {
                targets[(int) (insn.keys[i] - low)] = insn.targets[i];
            }
            asm.aluImmediate(Assembler.SUB, false, RAX, (int) low);
            asm.aluImmediate(Assembler.CMP, false, RAX, (int) span);
            asm.jcc(Condition.ABOVE_EQUAL, labels[defaultTarget]);
            asm.emit(0xff, 0x24, 0xc5);
            tables.add(new JumpTable(asm.position(), targets));
            asm.emit32(0);
            return;
        }
        search(insn, order, 0, keys);
        if (defaultTarget != next) {
            asm.jmp(labels[defaultTarget]);
        }
    }

    /** Compares with the keys {@code from}…{@code to} in order; falls through if none matches. */
    private void search(Insn insn, Integer[] order, int from, int to) {
        if (to - from <= 4) {
            for (int i = from; i < to; i++) {
                asm.aluImmediate(Assembler.CMP, false, RAX, insn.keys[order[i]]);
                asm.jcc(Condition.EQUAL, labels[insn.targets[order[i]]]);
            }
            return;
        }
        int middle = (from + to) >>> 1;
        int upper = asm.newLabel();
        int end = asm.newLabel();
        asm.aluImmediate(Assembler.CMP, false, RAX, insn.keys[order[middle]]);
        asm.jcc(Condition.GREATER_EQUAL, upper);
        search(insn, order, from, middle);
        asm.jmp(end);
        asm.bind(upper);
        search(insn, order, middle, to);
        asm.bind(end);
    }

    private void portNumber(Operand port) {
        moveTo(RDX, port, false);
    }

    private static int[] in(int width) {
        return switch (width) {
            case Ir.UNSIGNED8 -> new int[] {0xec};
            case Ir.UNSIGNED16 -> new int[] {0x66, 0xed};
            default -> new int[] {0xed};
        };
    }

    private static int[] out(int width) {
        return switch (width) {
            case Ir.UNSIGNED8 -> new int[] {0xee};
            case Ir.UNSIGNED16 -> new int[] {0x66, 0xef};
            default -> new int[] {0xef};
        };
    }

    private void joinHalves(Insn insn) {
        asm.shiftImmediate(Assembler.SHL, true, RDX, 32);
        asm.alu(Assembler.OR, true, RAX, RDX);
        finish(insn, RAX);
    }
}
