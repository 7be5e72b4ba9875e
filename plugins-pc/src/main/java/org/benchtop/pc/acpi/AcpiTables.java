package org.benchtop.pc.acpi;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.benchtop.pc.chipset.Piix4Pm;

/**
 * All tables of a board in one block, and the root pointer, before they have an address.
 *
 * <p>Pointers hold offsets into the block; whoever places the block adds its address and then sums up: {@link #placeAt}
 * here, or firmware by the script of {@link TableLoader}.
 */
final class AcpiTables {
    private static final int HEADER = 36;
    private static final int CHECKSUM_OFFSET = 9;
    private static final int FACS_ALIGNMENT = 64;
    private static final int IO_APIC_ADDRESS = 0xfec0_0000;
    private static final int LOCAL_APIC_ADDRESS = 0xfee0_0000;
    private static final int LEVEL_ACTIVE_HIGH = 0x0d;
    private static final int RSDP_V1_LENGTH = 20;
    private static final int RSDP_LENGTH = 36;
    private static final int CENTURY_CELL = 0x32;
    private static final int RESET_PORT = 0xcf9;
    private static final int RESET_VALUE = 0x06;

    private final ByteArrayOutputStream block = new ByteArrayOutputStream();
    private final List<Pointer> pointers = new ArrayList<>();
    private final List<Checksum> checksums = new ArrayList<>();
    private final byte[] rsdp;

    /**
     * A field that holds an address inside the block.
     *
     * @param inRsdp whether the field is in the root pointer rather than in the block
     * @param offset where the field is
     * @param size 4 or 8
     */
    record Pointer(boolean inRsdp, int offset, int size) {}

    /**
     * A byte that makes a range add up to 0.
     *
     * @param inRsdp whether the range is in the root pointer rather than in the block
     * @param offset where the byte is
     * @param start start of the range
     * @param length its length
     */
    record Checksum(boolean inRsdp, int offset, int start, int length) {}

    AcpiTables(AcpiBoard board) {
        int facs = addFacs();
        int dsdt = addTable("DSDT", 2, Dsdt.build(board));
        int fadt = addFadt(facs, dsdt);
        int madt = addTable("APIC", 3, madt(board.cpus()));
        int rsdt = addTable("RSDT", 1, offsets(4, fadt, madt));
        pointers.add(new Pointer(false, rsdt + HEADER, 4));
        pointers.add(new Pointer(false, rsdt + HEADER + 4, 4));
        int xsdt = addTable("XSDT", 1, offsets(8, fadt, madt));
        pointers.add(new Pointer(false, xsdt + HEADER, 8));
        pointers.add(new Pointer(false, xsdt + HEADER + 8, 8));
        rsdp = rootPointer(rsdt, xsdt);
    }

    private static ByteBuffer little(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static byte[] offsets(int size, int... values) {
        ByteBuffer out = little(size * values.length);
        for (int value : values) {
            if (size == 4) {
                out.putInt(value);
            } else {
                out.putLong(value);
            }
        }
        return out.array();
    }

    private void align(int alignment) {
        while (block.size() % alignment != 0) {
            block.write(0);
        }
    }

    private static byte[] ascii(String text, int length) {
        byte[] out = new byte[length];
        java.util.Arrays.fill(out, (byte) ' ');
        System.arraycopy(text.getBytes(StandardCharsets.US_ASCII), 0, out, 0, text.length());
        return out;
    }

    /** Appends a table with its header (ACPI 6.4, 5.2.6) and returns where it starts. */
    private int addTable(String signature, int revision, byte[] body) {
        align(16);
        int start = block.size();
        ByteBuffer header = little(HEADER);
        header.put(ascii(signature, 4))
                .putInt(HEADER + body.length)
                .put((byte) revision)
                .put((byte) 0);
        header.put(ascii("BNCHTP", 6)).put(ascii("BENCHTOP", 8)).putInt(1);
        header.put(ascii("BNCH", 4)).putInt(1);
        block.writeBytes(header.array());
        block.writeBytes(body);
        checksums.add(new Checksum(false, start + CHECKSUM_OFFSET, start, HEADER + body.length));
        return start;
    }

    private int addFacs() {
        align(FACS_ALIGNMENT);
        int start = block.size();
        ByteBuffer facs = little(64);
        facs.put(ascii("FACS", 4)).putInt(64);
        facs.put(32, (byte) 1);
        block.writeBytes(facs.array());
        return start;
    }

    /** ACPI 6.4, 5.2.9, in the layout of revision 3. */
    private int addFadt(int facs, int dsdt) {
        int pm = Piix4Pm.DEFAULT_BASE;
        ByteBuffer body = little(244 - HEADER);
        body.putInt(facs).putInt(dsdt);
        body.put((byte) 0).put((byte) 0);
        body.putShort((short) Piix4Pm.SCI_IRQ).putInt(Piix4Pm.SMI_COMMAND_PORT);
        body.put((byte) Piix4Pm.ACPI_ENABLE)
                .put((byte) Piix4Pm.ACPI_DISABLE)
                .put((byte) 0)
                .put((byte) 0);
        body.putInt(pm).putInt(0).putInt(pm + 0x04).putInt(0).putInt(0).putInt(pm + 0x08);
        body.putInt(pm + 0x0c).putInt(0);
        body.put((byte) 4)
                .put((byte) 2)
                .put((byte) 0)
                .put((byte) 4)
                .put((byte) 4)
                .put((byte) 0);
        body.put((byte) 0).put((byte) 0);
        // Latencies above 100 and 1000 say that there are no C2 and C3 states.
        body.putShort((short) 0x0fff).putShort((short) 0x0fff);
        body.putShort((short) 0).putShort((short) 0).put((byte) 0).put((byte) 0);
        body.put((byte) 0).put((byte) 0).put((byte) CENTURY_CELL);
        // Legacy devices, an 8042, no VGA.
        body.putShort((short) 0x0007).put((byte) 0);
        // WBINVD works, C1 works, no fixed sleep button, RTC wake not in PM1, reset register.
        body.putInt(1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 10);
        genericAddress(body, 8, 1, RESET_PORT);
        body.put((byte) RESET_VALUE).put(new byte[3]);
        body.putLong(0).putLong(dsdt);
        genericAddress(body, 32, 2, pm);
        genericAddress(body, 0, 0, 0);
        genericAddress(body, 16, 2, pm + 0x04);
        genericAddress(body, 0, 0, 0);
        genericAddress(body, 0, 0, 0);
        genericAddress(body, 32, 3, pm + 0x08);
        genericAddress(body, 32, 1, pm + 0x0c);
        genericAddress(body, 0, 0, 0);
        int start = addTable("FACP", 3, body.array());
        pointers.add(new Pointer(false, start + 36, 4));
        pointers.add(new Pointer(false, start + 40, 4));
        pointers.add(new Pointer(false, start + 140, 8));
        return start;
    }

    /** A port as a generic address (ACPI 6.4, 5.2.3.2); no bits for none. */
    private static void genericAddress(ByteBuffer out, int bits, int accessSize, int port) {
        int ioSpace = bits == 0 ? 0 : 1;
        out.put((byte) ioSpace)
                .put((byte) bits)
                .put((byte) 0)
                .put((byte) accessSize)
                .putLong(port);
    }

    /** ACPI 6.4, 5.2.12. */
    private static byte[] madt(int cpus) {
        ByteBuffer out = little(64 + 16 * cpus + 5 * 10);
        out.putInt(LOCAL_APIC_ADDRESS).putInt(1);
        for (int i = 0; i < cpus; i++) {
            if (i < 255) {
                out.put((byte) 0).put((byte) 8).put((byte) i).put((byte) i).putInt(1);
            } else {
                out.put((byte) 9)
                        .put((byte) 16)
                        .putShort((short) 0)
                        .putInt(i)
                        .putInt(1)
                        .putInt(i);
            }
        }
        out.put((byte) 1)
                .put((byte) 12)
                .put((byte) 0)
                .put((byte) 0)
                .putInt(IO_APIC_ADDRESS)
                .putInt(0);
        // The PIT reaches the IOAPIC at pin 2; PCI interrupts and the SCI are level-triggered, active high.
        override(out, 0, 2, 0);
        override(out, 5, 5, LEVEL_ACTIVE_HIGH);
        override(out, 9, 9, LEVEL_ACTIVE_HIGH);
        override(out, 10, 10, LEVEL_ACTIVE_HIGH);
        override(out, 11, 11, LEVEL_ACTIVE_HIGH);
        out.put((byte) 4).put((byte) 6).put((byte) 0xff).putShort((short) 0).put((byte) 1);
        return java.util.Arrays.copyOf(out.array(), out.position());
    }

    private static void override(ByteBuffer out, int irq, int gsi, int flags) {
        out.put((byte) 2)
                .put((byte) 10)
                .put((byte) 0)
                .put((byte) irq)
                .putInt(gsi)
                .putShort((short) flags);
    }

    /** ACPI 6.4, 5.2.5.3. */
    private byte[] rootPointer(int rsdt, int xsdt) {
        ByteBuffer out = little(RSDP_LENGTH);
        out.put(ascii("RSD PTR ", 8)).put((byte) 0).put(ascii("BNCHTP", 6)).put((byte) 2);
        out.putInt(rsdt).putInt(RSDP_LENGTH).putLong(xsdt);
        pointers.add(new Pointer(true, 16, 4));
        pointers.add(new Pointer(true, 24, 8));
        checksums.add(new Checksum(true, 8, 0, RSDP_V1_LENGTH));
        checksums.add(new Checksum(true, 32, 0, RSDP_LENGTH));
        return out.array();
    }

    byte[] block() {
        return block.toByteArray();
    }

    byte[] rsdp() {
        return rsdp.clone();
    }

    List<Pointer> pointers() {
        return List.copyOf(pointers);
    }

    List<Checksum> checksums() {
        return List.copyOf(checksums);
    }

    /** Alignment that the block needs. */
    int alignment() {
        return FACS_ALIGNMENT;
    }

    /**
     * The root pointer and, behind it, the block, as they are in memory from an address on.
     *
     * @param gpa a multiple of {@link #alignment}, at which the root pointer will be
     */
    byte[] placeAt(long gpa) {
        byte[] tables = block();
        byte[] all = new byte[FACS_ALIGNMENT + tables.length];
        System.arraycopy(rsdp, 0, all, 0, rsdp.length);
        System.arraycopy(tables, 0, all, FACS_ALIGNMENT, tables.length);
        ByteBuffer out = ByteBuffer.wrap(all).order(ByteOrder.LITTLE_ENDIAN);
        long blockGpa = gpa + FACS_ALIGNMENT;
        for (Pointer pointer : pointers) {
            int at = pointer.offset + (pointer.inRsdp ? 0 : FACS_ALIGNMENT);
            if (pointer.size == 4) {
                out.putInt(at, (int) (out.getInt(at) + blockGpa));
            } else {
                out.putLong(at, out.getLong(at) + blockGpa);
            }
        }
        for (Checksum checksum : checksums) {
            int base = checksum.inRsdp ? 0 : FACS_ALIGNMENT;
            int sum = 0;
            for (int i = 0; i < checksum.length; i++) {
                sum += all[base + checksum.start + i];
            }
            all[base + checksum.offset] -= (byte) sum;
        }
        return all;
    }
}
