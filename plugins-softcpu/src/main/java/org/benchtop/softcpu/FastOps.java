package org.benchtop.softcpu;

import org.jspecify.annotations.Nullable;

/**
 * Steps for the most frequent instructions of 64-bit code: one class per operation, operand size and kind of operands, so
 * that each is a few machine instructions once compiled. They do what the handlers in {@link Arithmetic} and {@link Moves}
 * do; operands in memory are addressed by base, index and displacement without a segment base.
 */
final class FastOps {
    private FastOps() {}

    /** A step with a memory operand. */
    private abstract static class Memory extends Op {
        private final int base;
        private final int index;
        private final int scale;
        private final long disp;

        Memory(Insn in) {
            base = in.base;
            index = in.index;
            scale = in.scale;
            disp = in.disp;
        }

        final long address(long[] r) {
            return r[base] + (r[index] << scale) + disp;
        }
    }

    private static final class AddRegisters64 extends Op {
        private final int to;
        private final int from;

        AddRegisters64(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a + b;
            r[to] = x;
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddImmediate64 extends Op {
        private final int to;
        private final long b;

        AddImmediate64(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a + b;
            r[to] = x;
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddLoad64 extends Memory {
        private final int to;

        AddLoad64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long b = c.load64(address(r));
            long a = r[to];
            long x = a + b;
            r[to] = x;
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddStore64 extends Memory {
        private final int from;

        AddStore64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long b = r[from];
            long x = a + b;
            c.store64(at, x);
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddStoreImmediate64 extends Memory {
        private final long b;

        AddStoreImmediate64(Insn in) {
            super(in);
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long x = a + b;
            c.store64(at, x);
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddRegisters32 extends Op {
        private final int to;
        private final int from;

        AddRegisters32(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int b = (int) r[from];
            int x = a + b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddImmediate32 extends Op {
        private final int to;
        private final int b;

        AddImmediate32(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a + b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddLoad32 extends Memory {
        private final int to;

        AddLoad32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int b = c.load32(address(r));
            int a = (int) r[to];
            int x = a + b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddStore32 extends Memory {
        private final int from;

        AddStore32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int b = (int) r[from];
            int x = a + b;
            c.store32(at, x);
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class AddStoreImmediate32 extends Memory {
        private final int b;

        AddStoreImmediate32(Insn in) {
            super(in);
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int x = a + b;
            c.store32(at, x);
            c.ccKind = Flags.ADD;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class OrRegisters64 extends Op {
        private final int to;
        private final int from;

        OrRegisters64(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a | b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrImmediate64 extends Op {
        private final int to;
        private final long b;

        OrImmediate64(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a | b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrLoad64 extends Memory {
        private final int to;

        OrLoad64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long b = c.load64(address(r));
            long a = r[to];
            long x = a | b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrStore64 extends Memory {
        private final int from;

        OrStore64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long b = r[from];
            long x = a | b;
            c.store64(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrStoreImmediate64 extends Memory {
        private final long b;

        OrStoreImmediate64(Insn in) {
            super(in);
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long x = a | b;
            c.store64(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrRegisters32 extends Op {
        private final int to;
        private final int from;

        OrRegisters32(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int b = (int) r[from];
            int x = a | b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrImmediate32 extends Op {
        private final int to;
        private final int b;

        OrImmediate32(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a | b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrLoad32 extends Memory {
        private final int to;

        OrLoad32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int b = c.load32(address(r));
            int a = (int) r[to];
            int x = a | b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrStore32 extends Memory {
        private final int from;

        OrStore32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int b = (int) r[from];
            int x = a | b;
            c.store32(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class OrStoreImmediate32 extends Memory {
        private final int b;

        OrStoreImmediate32(Insn in) {
            super(in);
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int x = a | b;
            c.store32(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndRegisters64 extends Op {
        private final int to;
        private final int from;

        AndRegisters64(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a & b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndImmediate64 extends Op {
        private final int to;
        private final long b;

        AndImmediate64(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a & b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndLoad64 extends Memory {
        private final int to;

        AndLoad64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long b = c.load64(address(r));
            long a = r[to];
            long x = a & b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndStore64 extends Memory {
        private final int from;

        AndStore64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long b = r[from];
            long x = a & b;
            c.store64(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndStoreImmediate64 extends Memory {
        private final long b;

        AndStoreImmediate64(Insn in) {
            super(in);
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long x = a & b;
            c.store64(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndRegisters32 extends Op {
        private final int to;
        private final int from;

        AndRegisters32(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int b = (int) r[from];
            int x = a & b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndImmediate32 extends Op {
        private final int to;
        private final int b;

        AndImmediate32(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a & b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndLoad32 extends Memory {
        private final int to;

        AndLoad32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int b = c.load32(address(r));
            int a = (int) r[to];
            int x = a & b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndStore32 extends Memory {
        private final int from;

        AndStore32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int b = (int) r[from];
            int x = a & b;
            c.store32(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class AndStoreImmediate32 extends Memory {
        private final int b;

        AndStoreImmediate32(Insn in) {
            super(in);
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int x = a & b;
            c.store32(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class SubRegisters64 extends Op {
        private final int to;
        private final int from;

        SubRegisters64(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a - b;
            r[to] = x;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubImmediate64 extends Op {
        private final int to;
        private final long b;

        SubImmediate64(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a - b;
            r[to] = x;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubLoad64 extends Memory {
        private final int to;

        SubLoad64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long b = c.load64(address(r));
            long a = r[to];
            long x = a - b;
            r[to] = x;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubStore64 extends Memory {
        private final int from;

        SubStore64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long b = r[from];
            long x = a - b;
            c.store64(at, x);
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubStoreImmediate64 extends Memory {
        private final long b;

        SubStoreImmediate64(Insn in) {
            super(in);
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long x = a - b;
            c.store64(at, x);
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubRegisters32 extends Op {
        private final int to;
        private final int from;

        SubRegisters32(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int b = (int) r[from];
            int x = a - b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubImmediate32 extends Op {
        private final int to;
        private final int b;

        SubImmediate32(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a - b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubLoad32 extends Memory {
        private final int to;

        SubLoad32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int b = c.load32(address(r));
            int a = (int) r[to];
            int x = a - b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubStore32 extends Memory {
        private final int from;

        SubStore32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int b = (int) r[from];
            int x = a - b;
            c.store32(at, x);
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class SubStoreImmediate32 extends Memory {
        private final int b;

        SubStoreImmediate32(Insn in) {
            super(in);
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int x = a - b;
            c.store32(at, x);
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class XorRegisters64 extends Op {
        private final int to;
        private final int from;

        XorRegisters64(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a ^ b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorImmediate64 extends Op {
        private final int to;
        private final long b;

        XorImmediate64(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a ^ b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorLoad64 extends Memory {
        private final int to;

        XorLoad64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long b = c.load64(address(r));
            long a = r[to];
            long x = a ^ b;
            r[to] = x;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorStore64 extends Memory {
        private final int from;

        XorStore64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long b = r[from];
            long x = a ^ b;
            c.store64(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorStoreImmediate64 extends Memory {
        private final long b;

        XorStoreImmediate64(Insn in) {
            super(in);
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 8);
            long a = c.load64(at);
            long x = a ^ b;
            c.store64(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorRegisters32 extends Op {
        private final int to;
        private final int from;

        XorRegisters32(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int b = (int) r[from];
            int x = a ^ b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorImmediate32 extends Op {
        private final int to;
        private final int b;

        XorImmediate32(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a ^ b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorLoad32 extends Memory {
        private final int to;

        XorLoad32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int b = c.load32(address(r));
            int a = (int) r[to];
            int x = a ^ b;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorStore32 extends Memory {
        private final int from;

        XorStore32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int b = (int) r[from];
            int x = a ^ b;
            c.store32(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class XorStoreImmediate32 extends Memory {
        private final int b;

        XorStoreImmediate32(Insn in) {
            super(in);
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long at = address(r);
            c.checkWrite(at, 4);
            int a = c.load32(at);
            int x = a ^ b;
            c.store32(at, x);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class CmpRegisters64 extends Op {
        private final int to;
        private final int from;

        CmpRegisters64(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpImmediate64 extends Op {
        private final int to;
        private final long b;

        CmpImmediate64(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpLoad64 extends Memory {
        private final int to;

        CmpLoad64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long b = c.load64(address(r));
            long a = r[to];
            long x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpMemoryImmediate64 extends Memory {
        private final long b;

        CmpMemoryImmediate64(Insn in) {
            super(in);
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = c.load64(address(r));
            long x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpMemoryRegister64 extends Memory {
        private final int from;

        CmpMemoryRegister64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = c.load64(address(r));
            long b = r[from];
            long x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpRegisters32 extends Op {
        private final int to;
        private final int from;

        CmpRegisters32(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int b = (int) r[from];
            int x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpImmediate32 extends Op {
        private final int to;
        private final int b;

        CmpImmediate32(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpLoad32 extends Memory {
        private final int to;

        CmpLoad32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int b = c.load32(address(r));
            int a = (int) r[to];
            int x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpMemoryImmediate32 extends Memory {
        private final int b;

        CmpMemoryImmediate32(Insn in) {
            super(in);
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = c.load32(address(r));
            int x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpMemoryRegister32 extends Memory {
        private final int from;

        CmpMemoryRegister32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = c.load32(address(r));
            int b = (int) r[from];
            int x = a - b;
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpMemoryImmediate8 extends Memory {
        private final int b;

        CmpMemoryImmediate8(Insn in) {
            super(in);
            b = (byte) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (byte) c.load8(address(r));
            int x = (byte) (a - b);
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpImmediate8 extends Op {
        private final int to;
        private final int b;

        CmpImmediate8(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (byte) in.imm;
        }

        @Override
        void run(Cpu c) {
            int a = (byte) c.r[to];
            int x = (byte) (a - b);
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class CmpRegisters8 extends Op {
        private final int to;
        private final int from;

        CmpRegisters8(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            int a = (byte) c.r[to];
            int b = (byte) c.r[from];
            int x = (byte) (a - b);
            c.ccKind = Flags.SUB;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = b;
        }
    }

    private static final class TestRegisters64 extends Op {
        private final int to;
        private final int from;

        TestRegisters64(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long b = r[from];
            long x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestImmediate64 extends Op {
        private final int to;
        private final long b;

        TestImmediate64(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestLoad64 extends Memory {
        private final int to;

        TestLoad64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long b = c.load64(address(r));
            long a = r[to];
            long x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestMemoryImmediate64 extends Memory {
        private final long b;

        TestMemoryImmediate64(Insn in) {
            super(in);
            b = in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = c.load64(address(r));
            long x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestMemoryRegister64 extends Memory {
        private final int from;

        TestMemoryRegister64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = c.load64(address(r));
            long b = r[from];
            long x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestRegisters32 extends Op {
        private final int to;
        private final int from;

        TestRegisters32(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int b = (int) r[from];
            int x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestImmediate32 extends Op {
        private final int to;
        private final int b;

        TestImmediate32(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestLoad32 extends Memory {
        private final int to;

        TestLoad32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int b = c.load32(address(r));
            int a = (int) r[to];
            int x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestMemoryImmediate32 extends Memory {
        private final int b;

        TestMemoryImmediate32(Insn in) {
            super(in);
            b = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = c.load32(address(r));
            int x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestMemoryRegister32 extends Memory {
        private final int from;

        TestMemoryRegister32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = c.load32(address(r));
            int b = (int) r[from];
            int x = a & b;
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestMemoryImmediate8 extends Memory {
        private final int b;

        TestMemoryImmediate8(Insn in) {
            super(in);
            b = (byte) in.imm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (byte) c.load8(address(r));
            int x = (byte) (a & b);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestImmediate8 extends Op {
        private final int to;
        private final int b;

        TestImmediate8(Insn in) {
            to = (in.flags & Opcodes.MODRM) != 0 ? in.rm : Cpu.RAX;
            b = (byte) in.imm;
        }

        @Override
        void run(Cpu c) {
            int a = (byte) c.r[to];
            int x = (byte) (a & b);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class TestRegisters8 extends Op {
        private final int to;
        private final int from;

        TestRegisters8(Insn in) {
            boolean toRm = (in.opcode & 2) == 0 || in.opcode >= 0x80;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            int a = (byte) c.r[to];
            int b = (byte) c.r[from];
            int x = (byte) (a & b);
            c.ccKind = Flags.LOGIC;
            c.ccRes = x;
        }
    }

    private static final class Move64 extends Op {
        private final int to;
        private final int from;

        Move64(Insn in) {
            boolean toRm = in.opcode == 0x89;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            c.r[to] = c.r[from];
        }
    }

    private static final class Move32 extends Op {
        private final int to;
        private final int from;

        Move32(Insn in) {
            boolean toRm = in.opcode == 0x89;
            to = toRm ? in.rm : in.reg;
            from = toRm ? in.reg : in.rm;
        }

        @Override
        void run(Cpu c) {
            c.r[to] = c.r[from] & 0xffff_ffffL;
        }
    }

    private static final class MoveImmediate extends Op {
        private final int to;
        private final long value;

        MoveImmediate(Insn in) {
            to = in.rm;
            value = in.operandSize == 8 ? in.imm : in.imm & 0xffff_ffffL;
        }

        @Override
        void run(Cpu c) {
            c.r[to] = value;
        }
    }

    private static final class Load64 extends Memory {
        private final int to;

        Load64(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = c.load64(address(r));
        }
    }

    private static final class Load32 extends Memory {
        private final int to;

        Load32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = c.load32(address(r)) & 0xffff_ffffL;
        }
    }

    private static final class Load8 extends Memory {
        private final int to;

        Load8(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = r[to] & ~0xffL | c.load8(address(r));
        }
    }

    private static final class LoadZero8 extends Memory {
        private final int to;

        LoadZero8(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = c.load8(address(r));
        }
    }

    private static final class LoadZero16 extends Memory {
        private final int to;

        LoadZero16(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = c.load16(address(r));
        }
    }

    private static final class LoadSigned8 extends Memory {
        private final int to;
        private final long mask;

        LoadSigned8(Insn in) {
            super(in);
            to = in.reg;
            mask = Cpu.mask(in.operandSize);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = (byte) c.load8(address(r)) & mask;
        }
    }

    private static final class LoadSigned16 extends Memory {
        private final int to;
        private final long mask;

        LoadSigned16(Insn in) {
            super(in);
            to = in.reg;
            mask = Cpu.mask(in.operandSize);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = (short) c.load16(address(r)) & mask;
        }
    }

    private static final class LoadSigned32 extends Memory {
        private final int to;

        LoadSigned32(Insn in) {
            super(in);
            to = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = c.load32(address(r));
        }
    }

    private static final class Store64 extends Memory {
        private final int from;

        Store64(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            c.store64(address(r), r[from]);
        }
    }

    private static final class Store32 extends Memory {
        private final int from;

        Store32(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            c.store32(address(r), (int) r[from]);
        }
    }

    private static final class Store8 extends Memory {
        private final int from;

        Store8(Insn in) {
            super(in);
            from = in.reg;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            c.store8(address(r), (int) r[from]);
        }
    }

    private static final class StoreImmediate64 extends Memory {
        private final long value;

        StoreImmediate64(Insn in) {
            super(in);
            value = in.imm;
        }

        @Override
        void run(Cpu c) {
            c.store64(address(c.r), value);
        }
    }

    private static final class StoreImmediate32 extends Memory {
        private final int value;

        StoreImmediate32(Insn in) {
            super(in);
            value = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            c.store32(address(c.r), value);
        }
    }

    private static final class StoreImmediate8 extends Memory {
        private final int value;

        StoreImmediate8(Insn in) {
            super(in);
            value = (int) in.imm;
        }

        @Override
        void run(Cpu c) {
            c.store8(address(c.r), value);
        }
    }

    private static final class Lea extends Memory {
        private final int to;
        private final long mask;

        Lea(Insn in) {
            super(in);
            to = in.reg;
            mask = Cpu.mask(in.operandSize);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            r[to] = address(r) & mask;
        }
    }

    private static final class Zero8 extends Op {
        private final int to;
        private final int from;

        Zero8(Insn in) {
            to = in.reg;
            from = in.rm;
        }

        @Override
        void run(Cpu c) {
            c.r[to] = c.r[from] & 0xff;
        }
    }

    private static final class Zero16 extends Op {
        private final int to;
        private final int from;

        Zero16(Insn in) {
            to = in.reg;
            from = in.rm;
        }

        @Override
        void run(Cpu c) {
            c.r[to] = c.r[from] & 0xffff;
        }
    }

    private static final class Signed32 extends Op {
        private final int to;
        private final int from;

        Signed32(Insn in) {
            to = in.reg;
            from = in.rm;
        }

        @Override
        void run(Cpu c) {
            c.r[to] = (int) c.r[from];
        }
    }

    private static final class Push extends Op {
        private final int from;

        Push(Insn in) {
            from = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long sp = r[Cpu.RSP] - 8;
            c.store64(sp, r[from]);
            r[Cpu.RSP] = sp;
        }
    }

    private static final class Pop extends Op {
        private final int to;

        Pop(Insn in) {
            to = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long sp = r[Cpu.RSP];
            long value = c.load64(sp);
            r[Cpu.RSP] = sp + 8;
            r[to] = value;
        }
    }

    private static final class Nothing extends Op {

        Nothing(Insn in) {}

        @Override
        void run(Cpu c) {
            // one of the many forms of NOP
        }
    }

    private static final class ShiftLeft64 extends Op {
        private final int to;
        private final int count;

        ShiftLeft64(Insn in) {
            to = in.rm;
            count = FastOps.count(in, 63);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a << count;
            r[to] = x;
            long carry = a >>> 64 - count & 1;
            c.ccKind = Flags.SHIFT;
            c.ccRes = x;
            c.ccA = x >>> 63 ^ carry;
            c.ccB = carry;
        }
    }

    private static final class ShiftLeft32 extends Op {
        private final int to;
        private final int count;

        ShiftLeft32(Insn in) {
            to = in.rm;
            count = FastOps.count(in, 31);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a << count;
            r[to] = x & 0xffff_ffffL;
            long carry = a >>> 32 - count & 1;
            c.ccKind = Flags.SHIFT;
            c.ccRes = x;
            c.ccA = x >>> 31 ^ carry;
            c.ccB = carry;
        }
    }

    private static final class ShiftRight64 extends Op {
        private final int to;
        private final int count;

        ShiftRight64(Insn in) {
            to = in.rm;
            count = FastOps.count(in, 63);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a >>> count;
            r[to] = x;
            c.ccKind = Flags.SHIFT;
            c.ccRes = x;
            c.ccA = a >>> 63;
            c.ccB = a >>> count - 1 & 1;
        }
    }

    private static final class ShiftRight32 extends Op {
        private final int to;
        private final int count;

        ShiftRight32(Insn in) {
            to = in.rm;
            count = FastOps.count(in, 31);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            int a = (int) r[to];
            int x = a >>> count;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.SHIFT;
            c.ccRes = x;
            c.ccA = a >>> 31;
            c.ccB = a >>> count - 1 & 1;
        }
    }

    private static final class ShiftSigned64 extends Op {
        private final int to;
        private final int count;

        ShiftSigned64(Insn in) {
            to = in.rm;
            count = FastOps.count(in, 63);
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long a = r[to];
            long x = a >> count;
            r[to] = x;
            c.ccKind = Flags.SHIFT;
            c.ccRes = x;
            c.ccA = 0;
            c.ccB = a >> count - 1 & 1;
        }
    }

    private static final class Increment64 extends Op {
        private final int to;

        Increment64(Insn in) {
            to = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long carry = c.cf() ? 1 : 0;
            long a = r[to];
            r[to] = a + 1;
            c.ccKind = Flags.INC;
            c.ccRes = a + 1;
            c.ccA = a;
            c.ccB = carry;
        }
    }

    private static final class Increment32 extends Op {
        private final int to;

        Increment32(Insn in) {
            to = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long carry = c.cf() ? 1 : 0;
            int a = (int) r[to];
            int x = a + 1;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.INC;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = carry;
        }
    }

    private static final class Decrement64 extends Op {
        private final int to;

        Decrement64(Insn in) {
            to = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long carry = c.cf() ? 1 : 0;
            long a = r[to];
            r[to] = a - 1;
            c.ccKind = Flags.DEC;
            c.ccRes = a - 1;
            c.ccA = a;
            c.ccB = carry;
        }
    }

    private static final class Decrement32 extends Op {
        private final int to;

        Decrement32(Insn in) {
            to = in.rm;
        }

        @Override
        void run(Cpu c) {
            long[] r = c.r;
            long carry = c.cf() ? 1 : 0;
            int a = (int) r[to];
            int x = a - 1;
            r[to] = x & 0xffff_ffffL;
            c.ccKind = Flags.DEC;
            c.ccRes = x;
            c.ccA = a;
            c.ccB = carry;
        }
    }

    private static int count(Insn in, int mask) {
        return (in.opcode >= 0xd0 ? 1 : (int) in.imm) & mask;
    }

    private static @Nullable Op registers(Insn in, int op) {
        return switch (op << 4 | in.size) {
            case 0 << 4 | 8 -> new AddRegisters64(in);
            case 0 << 4 | 4 -> new AddRegisters32(in);
            case 1 << 4 | 8 -> new OrRegisters64(in);
            case 1 << 4 | 4 -> new OrRegisters32(in);
            case 4 << 4 | 8 -> new AndRegisters64(in);
            case 4 << 4 | 4 -> new AndRegisters32(in);
            case 5 << 4 | 8 -> new SubRegisters64(in);
            case 5 << 4 | 4 -> new SubRegisters32(in);
            case 6 << 4 | 8 -> new XorRegisters64(in);
            case 6 << 4 | 4 -> new XorRegisters32(in);
            case 7 << 4 | 8 -> new CmpRegisters64(in);
            case 7 << 4 | 4 -> new CmpRegisters32(in);
            case 7 << 4 | 1 -> new CmpRegisters8(in);
            case 8 << 4 | 8 -> new TestRegisters64(in);
            case 8 << 4 | 4 -> new TestRegisters32(in);
            case 8 << 4 | 1 -> new TestRegisters8(in);
            default -> null;
        };
    }

    private static @Nullable Op immediate(Insn in, int op) {
        return switch (op << 4 | in.size) {
            case 0 << 4 | 8 -> new AddImmediate64(in);
            case 0 << 4 | 4 -> new AddImmediate32(in);
            case 1 << 4 | 8 -> new OrImmediate64(in);
            case 1 << 4 | 4 -> new OrImmediate32(in);
            case 4 << 4 | 8 -> new AndImmediate64(in);
            case 4 << 4 | 4 -> new AndImmediate32(in);
            case 5 << 4 | 8 -> new SubImmediate64(in);
            case 5 << 4 | 4 -> new SubImmediate32(in);
            case 6 << 4 | 8 -> new XorImmediate64(in);
            case 6 << 4 | 4 -> new XorImmediate32(in);
            case 7 << 4 | 8 -> new CmpImmediate64(in);
            case 7 << 4 | 4 -> new CmpImmediate32(in);
            case 7 << 4 | 1 -> new CmpImmediate8(in);
            case 8 << 4 | 8 -> new TestImmediate64(in);
            case 8 << 4 | 4 -> new TestImmediate32(in);
            case 8 << 4 | 1 -> new TestImmediate8(in);
            default -> null;
        };
    }

    private static @Nullable Op load(Insn in, int op) {
        return switch (op << 4 | in.size) {
            case 0 << 4 | 8 -> new AddLoad64(in);
            case 0 << 4 | 4 -> new AddLoad32(in);
            case 1 << 4 | 8 -> new OrLoad64(in);
            case 1 << 4 | 4 -> new OrLoad32(in);
            case 4 << 4 | 8 -> new AndLoad64(in);
            case 4 << 4 | 4 -> new AndLoad32(in);
            case 5 << 4 | 8 -> new SubLoad64(in);
            case 5 << 4 | 4 -> new SubLoad32(in);
            case 6 << 4 | 8 -> new XorLoad64(in);
            case 6 << 4 | 4 -> new XorLoad32(in);
            case 7 << 4 | 8 -> new CmpLoad64(in);
            case 7 << 4 | 4 -> new CmpLoad32(in);
            default -> null;
        };
    }

    private static @Nullable Op store(Insn in, int op) {
        return switch (op << 4 | in.size) {
            case 0 << 4 | 8 -> new AddStore64(in);
            case 0 << 4 | 4 -> new AddStore32(in);
            case 1 << 4 | 8 -> new OrStore64(in);
            case 1 << 4 | 4 -> new OrStore32(in);
            case 4 << 4 | 8 -> new AndStore64(in);
            case 4 << 4 | 4 -> new AndStore32(in);
            case 5 << 4 | 8 -> new SubStore64(in);
            case 5 << 4 | 4 -> new SubStore32(in);
            case 6 << 4 | 8 -> new XorStore64(in);
            case 6 << 4 | 4 -> new XorStore32(in);
            default -> null;
        };
    }

    private static @Nullable Op storeImmediate(Insn in, int op) {
        return switch (op << 4 | in.size) {
            case 0 << 4 | 8 -> new AddStoreImmediate64(in);
            case 0 << 4 | 4 -> new AddStoreImmediate32(in);
            case 1 << 4 | 8 -> new OrStoreImmediate64(in);
            case 1 << 4 | 4 -> new OrStoreImmediate32(in);
            case 4 << 4 | 8 -> new AndStoreImmediate64(in);
            case 4 << 4 | 4 -> new AndStoreImmediate32(in);
            case 5 << 4 | 8 -> new SubStoreImmediate64(in);
            case 5 << 4 | 4 -> new SubStoreImmediate32(in);
            case 6 << 4 | 8 -> new XorStoreImmediate64(in);
            case 6 << 4 | 4 -> new XorStoreImmediate32(in);
            default -> null;
        };
    }

    private static @Nullable Op memoryRegister(Insn in, int op) {
        return switch (op << 4 | in.size) {
            case 7 << 4 | 8 -> new CmpMemoryRegister64(in);
            case 7 << 4 | 4 -> new CmpMemoryRegister32(in);
            case 8 << 4 | 8 -> new TestMemoryRegister64(in);
            case 8 << 4 | 4 -> new TestMemoryRegister32(in);
            default -> null;
        };
    }

    private static @Nullable Op memoryImmediate(Insn in, int op) {
        return switch (op << 4 | in.size) {
            case 7 << 4 | 8 -> new CmpMemoryImmediate64(in);
            case 7 << 4 | 4 -> new CmpMemoryImmediate32(in);
            case 7 << 4 | 1 -> new CmpMemoryImmediate8(in);
            case 8 << 4 | 8 -> new TestMemoryImmediate64(in);
            case 8 << 4 | 4 -> new TestMemoryImmediate32(in);
            case 8 << 4 | 1 -> new TestMemoryImmediate8(in);
            default -> null;
        };
    }

    /** Whether byte registers among the operands are low ones. */
    private static boolean plainBytes(Insn in) {
        return in.reg < 16 && in.rm < 16;
    }

    /** A step for an instruction of 64-bit mode; null if its handler has to do. */
    static @Nullable Op of(Insn in) {
        if (in.codeSize != 8 || in.lock || in.operandSize == 2 || in.vex || !plainBytes(in)) {
            return null;
        }
        if (in.memory && (in.addressSize != 8 || in.seg >= Cpu.FS && in.opcode != 0x8d)) {
            return null;
        }
        Op op = in.map == 0 ? oneByte(in) : in.map == 1 ? twoByte(in) : null;
        return op != null || in.map > 1 ? op : ConditionOps.of(in);
    }

    private static @Nullable Op oneByte(Insn in) {
        int opcode = in.opcode;
        if (opcode < 0x40) {
            return arithmetic(in, opcode >> 3, opcode & 7);
        }
        if (opcode >= 0x50 && opcode < 0x58) {
            return new Push(in);
        }
        if (opcode >= 0x58 && opcode < 0x60) {
            return new Pop(in);
        }
        if (opcode >= 0xb8 && opcode < 0xc0) {
            return new MoveImmediate(in);
        }
        return switch (opcode) {
            case 0x63 -> in.operandSize != 8 ? null : in.memory ? new LoadSigned32(in) : new Signed32(in);
            case 0x80, 0x81, 0x83 -> group1(in);
            case 0x84, 0x85 -> in.memory ? memoryRegister(in, TEST) : registers(in, TEST);
            case 0x88 -> in.memory ? new Store8(in) : null;
            case 0x89 -> moveTo(in);
            case 0x8a -> in.memory ? new Load8(in) : null;
            case 0x8b -> moveFrom(in);
            case 0x8d -> in.memory ? new Lea(in) : null;
            case 0x90 -> in.rm == 0 ? new Nothing(in) : null;
            case 0xa8, 0xa9 -> immediate(in, TEST);
            case 0xc1, 0xd1 -> shift(in);
            case 0xc6 -> in.memory && in.extension() == 0 ? new StoreImmediate8(in) : null;
            case 0xc7 -> moveImmediate(in);
            case 0xf6, 0xf7 -> in.extension() > 1 ? null : in.memory ? memoryImmediate(in, TEST) : immediate(in, TEST);
            case 0xff -> in.memory || in.extension() > 1 ? null : count(in);
            default -> null;
        };
    }

    private static final int TEST = 8;

    private static @Nullable Op arithmetic(Insn in, int op, int form) {
        if (op == Alu.ADC || op == Alu.SBB) {
            return null;
        }
        boolean compare = op == Alu.CMP;
        return switch (form) {
            case 0, 1 -> !in.memory ? registers(in, op) : compare ? memoryRegister(in, op) : store(in, op);
            case 2, 3 -> in.memory ? load(in, op) : registers(in, op);
            case 4, 5 -> immediate(in, op);
            default -> null;
        };
    }

    private static @Nullable Op group1(Insn in) {
        int op = in.extension();
        if (op == Alu.ADC || op == Alu.SBB) {
            return null;
        }
        if (!in.memory) {
            return immediate(in, op);
        }
        return op == Alu.CMP ? memoryImmediate(in, op) : storeImmediate(in, op);
    }

    private static @Nullable Op moveTo(Insn in) {
        if (in.memory) {
            return in.size == 8 ? new Store64(in) : new Store32(in);
        }
        return in.size == 8 ? new Move64(in) : new Move32(in);
    }

    private static @Nullable Op moveFrom(Insn in) {
        if (in.memory) {
            return in.size == 8 ? new Load64(in) : new Load32(in);
        }
        return in.size == 8 ? new Move64(in) : new Move32(in);
    }

    private static @Nullable Op moveImmediate(Insn in) {
        if (in.extension() != 0) {
            return null;
        }
        if (!in.memory) {
            return new MoveImmediate(in);
        }
        return in.size == 8 ? new StoreImmediate64(in) : new StoreImmediate32(in);
    }

    private static @Nullable Op shift(Insn in) {
        int size = in.size;
        if (in.memory || count(in, size == 8 ? 63 : 31) == 0) {
            return null;
        }
        return switch (in.extension()) {
            case 4 -> size == 8 ? new ShiftLeft64(in) : new ShiftLeft32(in);
            case 5 -> size == 8 ? new ShiftRight64(in) : new ShiftRight32(in);
            case 7 -> size == 8 ? new ShiftSigned64(in) : null;
            default -> null;
        };
    }

    private static Op count(Insn in) {
        if (in.extension() == 0) {
            return in.size == 8 ? new Increment64(in) : new Increment32(in);
        }
        return in.size == 8 ? new Decrement64(in) : new Decrement32(in);
    }

    private static @Nullable Op twoByte(Insn in) {
        return switch (in.opcode) {
            case 0x1e, 0x1f -> new Nothing(in);
            case 0xb6 -> in.memory ? new LoadZero8(in) : new Zero8(in);
            case 0xb7 -> in.memory ? new LoadZero16(in) : new Zero16(in);
            case 0xbe -> in.memory ? new LoadSigned8(in) : null;
            case 0xbf -> in.memory ? new LoadSigned16(in) : null;
            default -> null;
        };
    }
}
