package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Machines with disks behind an LSI 53C895A, driven by our guests and by SeaBIOS. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class LsiMachineTest {
    private static final Duration SOON = Duration.ofSeconds(240);
    private static final Path SEABIOS = Path.of("/usr/share/seabios/bios-256k.bin");

    @TempDir
    Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private MachineSpecBuilder machine() {
        return MachineSpec.named("lsi").memory("128MiB").baseDir(folder).chardev("tty0", "memory", Map.of());
    }

    private static String console(Machine m) {
        return m.chardev("tty0").orElseThrow().console().orElseThrow().text(0);
    }

    private MachineSpec check(String cmdline) {
        return machine()
                .guest("diskcheck", cmdline)
                .device("isa-serial", Map.of("chardev", "tty0"))
                .drive("d", "file", Map.of("file", "disk.img", "size", "2MiB", "create", true))
                .device("lsi53c895a", Map.of("id", "scsi0"))
                .device("scsi-hd", Map.of("drive", "d", "bus", "scsi0", "scsi-id", 3, "serial", "BT-123"))
                .build();
    }

    private String run(MachineSpec spec) throws InterruptedException {
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            assertEquals(0, exit.exitCode(), console(m));
            return console(m);
        }
    }

    @Test
    void diskCheckRunsWithTaggedCommands() throws InterruptedException {
        String text = run(check("seconds=0 iodepth=64"));

        assertTrue(text.contains("all data as written"), text);
        assertTrue(text.contains("serial number: \"BT-123\""), text);
        assertTrue(text.contains("\"missed_interrupts\":0"), text);
    }

    @Test
    void seaBiosBootsADisk() throws InterruptedException, IOException {
        Assumptions.assumeTrue(Files.exists(SEABIOS), "needs Debian's seabios package");
        byte[] image = new byte[1 << 20];
        System.arraycopy(bootSector("booted from LSI"), 0, image, 0, 512);
        Files.write(folder.resolve("boot.img"), image);

        String text = run(machine()
                .accel("soft")
                .firmware(SEABIOS)
                .drive("d", "file", Map.of("file", "boot.img"))
                .device("debugcon", "debugcon", new DebugconTo("tty0"))
                .device("lsi53c895a", Map.of("id", "scsi0"))
                .device("scsi-hd", Map.of("drive", "d", "bus", "scsi0"))
                .build());

        assertTrue(text.contains("booted from LSI"), text);
    }

    /** The options of the debug port, by name only: tests do not link to plugins. */
    private record DebugconTo(String chardev) {}

    /** Real-mode code that prints a text on the debug port and ends the machine with code 0. */
    private static byte[] bootSector(String text) {
        // xor ax,ax; mov ds,ax; cld; mov dx,0x402; mov si,0x7c1c; lodsb; test al,al; jz +3; out dx,al; jmp -8;
        // mov dx,0x501; xor eax,eax; out dx,eax; hlt; jmp -3
        byte[] code = HexFormat.of().parseHex("31c08ed8fcba0204be1c7cac84c07403eeebf8ba01056631c066eff4ebfd");
        byte[] sector = new byte[512];
        System.arraycopy(code, 0, sector, 0, code.length);
        byte[] message = text.getBytes(StandardCharsets.US_ASCII);
        sector[9] = (byte) code.length;
        System.arraycopy(message, 0, sector, code.length, message.length);
        sector[510] = 0x55;
        sector[511] = (byte) 0xaa;
        return sector;
    }
}
