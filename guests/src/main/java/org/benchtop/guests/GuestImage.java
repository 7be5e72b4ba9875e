package org.benchtop.guests;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A compiled guest: an ELF64 file and what is in it.
 *
 * @param elf the file; PVH note (32-bit entry) and {@code e_entry} (64-bit Linux boot protocol entry); also boots under
 *     {@code qemu-system-x86_64 -kernel}
 * @param symbols guest-physical addresses by name: methods as {@code package.Class.method(descriptor)}, static fields
 *     as {@code package.Class.field}, and named reservations
 * @param lineTable where the code of each source line begins, by ascending address
 */
public record GuestImage(byte[] elf, Map<String, Long> symbols, List<Line> lineTable) {
    /** From {@code address} on, code comes from {@code line} of {@code method}; line 0 is unknown. */
    public record Line(long address, String method, String sourceFile, int line) {}

    public GuestImage {
        symbols = Map.copyOf(symbols);
        lineTable = List.copyOf(lineTable);
    }

    /** The source line of a code address; empty outside compiled code. */
    public Optional<Line> lineOf(long address) {
        int low = 0;
        int high = lineTable.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (lineTable.get(middle).address() <= address) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high < 0 || lineTable.get(high).method().isEmpty() ? Optional.empty() : Optional.of(lineTable.get(high));
    }
}
