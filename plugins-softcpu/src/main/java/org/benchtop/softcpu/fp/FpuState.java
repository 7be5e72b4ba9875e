package org.benchtop.softcpu.fp;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** The x87, MMX, SSE and AVX registers of one vCPU. Not thread-safe: it belongs to its vCPU. */
public final class FpuState {
    /** Words of {@link #ymm} that are registers; beyond are the temporaries of vector instructions. */
    public static final int REGISTER_WORDS = 64;
    /** First word of an operand loaded from memory. */
    public static final int MEMORY_OPERAND = 64;
    /** First word of a result that is not yet known to be stored. */
    public static final int RESULT = 68;
    /** First word of a copy of an operand. */
    public static final int COPY = 72;

    /**
     * YMM0–15, four 64-bit words each, lowest first; XMM registers are the lower two. Temporaries follow.
     */
    public final long[] ymm = new long[80];

    /** The x87 stack, which MMX registers are part of. */
    public final X87Unit x87 = new X87Unit();

    /** SSE arithmetic with its control and status register. */
    public final MxcsrArithmetic sse = new MxcsrArithmetic();

    /** SSE control and status. */
    public int mxcsr() {
        return sse.mxcsr();
    }

    /** Sets MXCSR; bits outside {@link MxcsrArithmetic#MXCSR_MASK} are the caller's to refuse. */
    public void mxcsr(int value) {
        sse.mxcsr(value);
    }

    /** Everything, for saved states. */
    public byte[] save() {
        ByteBuffer buffer = ByteBuffer.allocate(REGISTER_WORDS * Long.BYTES + Integer.BYTES + X87Unit.SAVED_BYTES);
        for (int i = 0; i < REGISTER_WORDS; i++) {
            buffer.putLong(ymm[i]);
        }
        buffer.putInt(mxcsr());
        x87.save(buffer);
        return buffer.array();
    }

    /** Sets what {@link #save} gave. */
    public void restore(byte[] saved) {
        ByteBuffer buffer = ByteBuffer.wrap(saved);
        for (int i = 0; i < REGISTER_WORDS; i++) {
            ymm[i] = buffer.getLong();
        }
        mxcsr(buffer.getInt());
        x87.restore(buffer);
    }

    /** The power-on state. */
    public void reset() {
        Arrays.fill(ymm, 0);
        sse.mxcsr(MxcsrArithmetic.MXCSR_RESET);
        x87.reset();
    }
}
