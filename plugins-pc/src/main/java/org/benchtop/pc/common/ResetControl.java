package org.benchtop.pc.common;

/** The reset control register of the ISA bridge at port 0xCF9, which lies among the host bridge's ports. */
public interface ResetControl {
    /** The register. */
    int resetControl();

    /** Writes the register: bit 2 going up resets, bit 1 says how hard. */
    void resetControl(int value);
}
