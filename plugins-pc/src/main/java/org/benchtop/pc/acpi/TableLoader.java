package org.benchtop.pc.acpi;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The script by which firmware places and links tables: commands of 128 bytes, as SeaBIOS (src/fw/romfile_loader.h) and
 * the fw_cfg interface document them.
 */
final class TableLoader {
    static final String TABLES_FILE = "etc/acpi/tables";
    static final String RSDP_FILE = "etc/acpi/rsdp";
    static final String SCRIPT_FILE = "etc/table-loader";

    private static final int COMMAND_BYTES = 128;
    private static final int NAME_BYTES = 56;
    private static final int ALLOCATE = 1;
    private static final int ADD_POINTER = 2;
    private static final int ADD_CHECKSUM = 3;
    private static final int ZONE_HIGH = 1;
    private static final int ZONE_F_SEGMENT = 2;
    private static final int RSDP_ALIGNMENT = 16;

    private TableLoader() {}

    static byte[] script(AcpiTables tables) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteBuffer allocate = command(ALLOCATE);
        name(allocate, TABLES_FILE).putInt(tables.alignment()).put((byte) ZONE_HIGH);
        out.writeBytes(allocate.array());
        ByteBuffer allocateRsdp = command(ALLOCATE);
        name(allocateRsdp, RSDP_FILE).putInt(RSDP_ALIGNMENT).put((byte) ZONE_F_SEGMENT);
        out.writeBytes(allocateRsdp.array());
        for (AcpiTables.Pointer pointer : tables.pointers()) {
            ByteBuffer add = command(ADD_POINTER);
            name(add, file(pointer.inRsdp()));
            name(add, TABLES_FILE).putInt(pointer.offset()).put((byte) pointer.size());
            out.writeBytes(add.array());
        }
        for (AcpiTables.Checksum checksum : tables.checksums()) {
            ByteBuffer add = command(ADD_CHECKSUM);
            name(add, file(checksum.inRsdp()))
                    .putInt(checksum.offset())
                    .putInt(checksum.start())
                    .putInt(checksum.length());
            out.writeBytes(add.array());
        }
        return out.toByteArray();
    }

    private static String file(boolean rsdp) {
        return rsdp ? RSDP_FILE : TABLES_FILE;
    }

    private static ByteBuffer command(int code) {
        return ByteBuffer.allocate(COMMAND_BYTES).order(ByteOrder.LITTLE_ENDIAN).putInt(code);
    }

    private static ByteBuffer name(ByteBuffer out, String name) {
        byte[] field = new byte[NAME_BYTES];
        byte[] text = name.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(text, 0, field, 0, text.length);
        return out.put(field);
    }
}
