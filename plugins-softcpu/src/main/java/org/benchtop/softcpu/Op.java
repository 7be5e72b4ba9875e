package org.benchtop.softcpu;

/** One step of decoded code. Stateless: shared by the processors of a VM. */
abstract class Op {
    /** Executes; throws {@link CpuFault} before anything has changed. */
    abstract void run(Cpu c);

    /** Replaces the steps of a block whose code has changed: the run loop looks for the code anew. */
    static final Op STALE = new Op() {
        @Override
        void run(Cpu c) {
            throw StaleBlock.INSTANCE;
        }
    };

    /** See {@link #STALE}. */
    static final class StaleBlock extends RuntimeException {
        private static final long serialVersionUID = 1L;
        static final StaleBlock INSTANCE = new StaleBlock();

        private StaleBlock() {
            super(null, null, false, false);
        }
    }

    /** An instruction with a callback. */
    static final class Hooked extends Op {
        private final long rip;
        private final Op op;

        Hooked(long rip, Op op) {
            this.rip = rip;
            this.op = op;
        }

        @Override
        void run(Cpu c) {
            c.vm.hooks().executes(c, rip);
            op.run(c);
        }
    }

    /** Any instruction, through its handler. */
    static final class Generic extends Op {
        private final InsnHandler handler;
        private final Insn insn;

        Generic(InsnHandler handler, Insn insn) {
            this.handler = handler;
            this.insn = insn;
        }

        @Override
        void run(Cpu c) {
            handler.execute(c, insn);
        }
    }
}
