package org.benchtop.softcpu.fp;

/** The x87, MMX, SSE and AVX registers of one vCPU. Not thread-safe: it belongs to its vCPU. */
public final class FpuState {
    /** YMM0–15, four 64-bit words each, lowest first; XMM registers are the lower two. */
    public final long[] ymm = new long[64];

    /** SSE control and status. */
    public int mxcsr = 0x1f80;

    /** Everything, for saved states. */
    public byte[] save() {
        java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocate(ymm.length * Long.BYTES + Integer.BYTES);
        for (long word : ymm) {
            buffer.putLong(word);
        }
        return buffer.putInt(mxcsr).array();
    }

    /** Sets what {@link #save} gave. */
    public void restore(byte[] saved) {
        java.nio.ByteBuffer buffer = java.nio.ByteBuffer.wrap(saved);
        for (int i = 0; i < ymm.length; i++) {
            ymm[i] = buffer.getLong();
        }
        mxcsr = buffer.getInt();
    }

    /** The power-on state. */
    public void reset() {
        java.util.Arrays.fill(ymm, 0);
        mxcsr = 0x1f80;
    }
}
