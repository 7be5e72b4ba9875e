package org.benchtop.pc.acpi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.benchtop.pc.common.IsaDescription;
import org.benchtop.spi.pci.PciWindows;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AcpiTablesTest {
    private static final long GPA = 0xe0000;
    private static final PciWindows WINDOWS =
            new PciWindows(0xc000, 0x4000, 0xc000_0000L, 0x3ec0_0000L, 0x1_4000_0000L, 1L << 34);

    private static AcpiBoard board(int cpus) {
        return new AcpiBoard(
                cpus,
                WINDOWS,
                List.of(
                        new IsaDescription("COM1", "PNP0501", 1, List.of(new IsaDescription.Ports(0x3f8, 8)), 4),
                        new IsaDescription("RTC0", "PNP0B00", 0, List.of(new IsaDescription.Ports(0x70, 2)), 8),
                        new IsaDescription(
                                "KBD0",
                                "PNP0303",
                                0,
                                List.of(new IsaDescription.Ports(0x60, 1), new IsaDescription.Ports(0x64, 1)),
                                1)));
    }

    private static int sum(byte[] bytes, int start, int length) {
        int sum = 0;
        for (int i = 0; i < length; i++) {
            sum += bytes[start + i];
        }
        return sum & 0xff;
    }

    private static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static String text(byte[] bytes, int start, int length) {
        return new String(bytes, start, length, StandardCharsets.US_ASCII);
    }

    /** Walks from the root pointer and returns all tables by signature. */
    private static Map<String, byte[]> walk(byte[] memory) {
        ByteBuffer view = little(memory);
        assertEquals("RSD PTR ", text(memory, 0, 8));
        assertEquals(0, sum(memory, 0, 20), "checksum of the first 20 bytes of the root pointer");
        assertEquals(0, sum(memory, 0, 36), "checksum of the root pointer");
        Map<String, byte[]> tables = new TreeMap<>();
        int xsdt = (int) (view.getLong(24) - GPA);
        int rsdt = (int) (view.getInt(16) - GPA);
        collect(memory, xsdt, tables);
        collect(memory, rsdt, tables);
        int entries = (view.getInt(xsdt + 4) - 36) / 8;
        for (int i = 0; i < entries; i++) {
            int at = (int) (view.getLong(xsdt + 36 + 8 * i) - GPA);
            assertEquals(at, (int) (view.getInt(rsdt + 36 + 4 * i) - GPA), "RSDT and XSDT differ");
            collect(memory, at, tables);
            if (text(memory, at, 4).equals("FACP")) {
                collect(memory, (int) (view.getInt(at + 40) - GPA), tables);
                int facs = (int) (view.getInt(at + 36) - GPA);
                assertEquals("FACS", text(memory, facs, 4));
                assertEquals(0, (facs + GPA) % 64, "the FACS must be aligned to 64 bytes");
                assertEquals(view.getInt(at + 40) & 0xffffffffL, view.getLong(at + 140), "DSDT and X_DSDT");
            }
        }
        return tables;
    }

    private static byte[] table(String signature, byte[] memory) {
        return Objects.requireNonNull(walk(memory).get(signature), signature);
    }

    private static void collect(byte[] memory, int at, Map<String, byte[]> tables) {
        int length = little(memory).getInt(at + 4);
        String signature = text(memory, at, 4);
        assertEquals(0, sum(memory, at, length), "checksum of " + signature);
        tables.put(signature, java.util.Arrays.copyOfRange(memory, at, at + length));
    }

    @Test
    void everyTableIsReachableFromTheRootPointerAndSumsUpToZero() {
        Map<String, byte[]> tables = walk(new AcpiTables(board(2)).placeAt(GPA));

        assertEquals(List.of("APIC", "DSDT", "FACP", "RSDT", "XSDT"), List.copyOf(tables.keySet()));
    }

    @Test
    void fadtTellsWhereTheFixedHardwareIs() {
        byte[] fadt = table("FACP", new AcpiTables(board(1)).placeAt(GPA));
        ByteBuffer view = little(fadt);

        assertEquals(244, fadt.length);
        assertEquals(9, view.getShort(46), "SCI_INT");
        assertEquals(0xb2, view.getInt(48), "SMI_CMD");
        assertEquals(0x600, view.getInt(56), "PM1a_EVT_BLK");
        assertEquals(0x604, view.getInt(64), "PM1a_CNT_BLK");
        assertEquals(0x608, view.getInt(76), "PM_TMR_BLK");
        assertEquals(0x60c, view.getInt(80), "GPE0_BLK");
        assertEquals(4, fadt[88], "PM1_EVT_LEN");
        assertEquals(2, fadt[89], "PM1_CNT_LEN");
        assertEquals(4, fadt[91], "PM_TMR_LEN");
        assertEquals(0x32, fadt[108], "CENTURY");
        assertEquals(0xcf9, view.getLong(120), "RESET_REG");
        assertEquals(0x06, fadt[128], "RESET_VALUE");
        assertEquals(0x600, view.getLong(152), "X_PM1a_EVT_BLK");
        assertEquals(0x604, view.getLong(176), "X_PM1a_CNT_BLK");
        assertEquals(0x608, view.getLong(212), "X_PM_TMR_BLK");
    }

    @Test
    void madtListsEveryProcessorTheIoApicAndTheOverrides() {
        byte[] madt = table("APIC", new AcpiTables(board(300)).placeAt(GPA));
        int localApics = 0;
        int x2Apics = 0;
        int overrides = 0;
        int at = 44;
        while (at < madt.length) {
            switch (madt[at]) {
                case 0 -> localApics++;
                case 9 -> x2Apics++;
                case 2 -> overrides++;
                case 1 -> assertEquals(0xfec00000, little(madt).getInt(at + 4));
                default -> assertEquals(4, madt[at]);
            }
            assertTrue(madt[at + 1] > 0, "entry without length");
            at += madt[at + 1];
        }

        assertEquals(255, localApics);
        assertEquals(45, x2Apics);
        assertEquals(5, overrides);
    }

    @Test
    void firmwareScriptGivesTheSameTablesAsDirectPlacement() {
        AcpiTables tables = new AcpiTables(board(3));
        byte[] block = tables.block();
        byte[] rsdp = tables.rsdp();
        long blockGpa = GPA + 64;

        runScript(TableLoader.script(tables), block, rsdp, blockGpa);

        byte[] direct = tables.placeAt(GPA);
        assertEquals(hex(java.util.Arrays.copyOfRange(direct, 64, direct.length)), hex(block));
        assertEquals(hex(java.util.Arrays.copyOf(direct, 36)), hex(rsdp));
    }

    private static String hex(byte[] bytes) {
        return java.util.HexFormat.of().formatHex(bytes);
    }

    /** Plays the firmware's side of the loader script. */
    private static void runScript(byte[] script, byte[] block, byte[] rsdp, long blockGpa) {
        for (int at = 0; at < script.length; at += 128) {
            ByteBuffer command = little(java.util.Arrays.copyOfRange(script, at, at + 128));
            String file = cString(command.array(), 4);
            byte[] target = file.equals("etc/acpi/rsdp") ? rsdp : block;
            switch (command.getInt(0)) {
                case 1 -> assertTrue(command.getInt(60) >= 16, "alignment");
                case 2 -> {
                    assertEquals("etc/acpi/tables", cString(command.array(), 60));
                    int offset = command.getInt(116);
                    if (command.get(120) == 8) {
                        little(target).putLong(offset, little(target).getLong(offset) + blockGpa);
                    } else {
                        little(target).putInt(offset, (int) (little(target).getInt(offset) + blockGpa));
                    }
                }
                case 3 -> {
                    int offset = command.getInt(60);
                    target[offset] -= (byte) sum(target, command.getInt(64), command.getInt(68));
                }
                default -> throw new AssertionError("unknown loader command " + command.getInt(0));
            }
        }
    }

    private static String cString(byte[] bytes, int at) {
        int end = at;
        while (bytes[end] != 0) {
            end++;
        }
        return text(bytes, at, end - at);
    }

    @Test
    void dsdtDisassemblesAndCompilesWithoutErrors(@TempDir Path folder) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/iasl")), "iasl (Debian package acpica-tools) is not installed");
        byte[] dsdt = table("DSDT", new AcpiTables(board(4)).placeAt(GPA));
        Files.write(folder.resolve("dsdt.aml"), dsdt);

        String disassembly = run(folder, "iasl", "-d", "dsdt.aml");
        String source = Files.readString(folder.resolve("dsdt.dsl"));
        String compilation = run(folder, "iasl", "-oa", "-p", "again", "dsdt.dsl");

        assertFalse(disassembly.contains("Error"), disassembly);
        assertTrue(source.contains("Device (COM1)"), source);
        assertTrue(compilation.contains("0 Errors, 0 Warnings"), compilation);
        assertEquals(hex(body(dsdt)), hex(body(Files.readAllBytes(folder.resolve("again.aml")))));
    }

    @Test
    void otherTablesDisassemble(@TempDir Path folder) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/iasl")), "iasl (Debian package acpica-tools) is not installed");
        Map<String, byte[]> tables = walk(new AcpiTables(board(2)).placeAt(GPA));
        for (String signature : List.of("FACP", "APIC", "XSDT", "RSDT")) {
            Files.write(folder.resolve(signature + ".aml"), Objects.requireNonNull(tables.get(signature)));

            String output = run(folder, "iasl", "-d", signature + ".aml");

            assertTrue(output.contains("Formatted output"), output);
            assertFalse(output.contains("Error") || output.contains("Invalid"), output);
        }
    }

    private static byte[] body(byte[] table) {
        return java.util.Arrays.copyOfRange(table, 36, table.length);
    }

    private static String run(Path folder, String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), "iasl does not end");
        return output;
    }
}
