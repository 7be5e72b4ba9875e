package org.benchtop.guests.compile;

import java.util.List;

/** Machine code of one method, not yet placed. */
record CodeBlob(String symbol, byte[] code, List<Assembler.Fixup> fixups, List<Line> lines) {
    /** From {@code offset} on, code comes from source line {@code line}. */
    record Line(int offset, int line) {}
}
