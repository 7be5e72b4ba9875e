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
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.PluginRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** SCSI adapters under SeaBIOS, whose drivers nobody here wrote. */
@Timeout(300)
class ScsiFirmwareTest {
    private static final Duration SOON = Duration.ofSeconds(240);
    private static final Path SEABIOS = Path.of("/usr/share/seabios/bios-256k.bin");

    @TempDir
    Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    /** The options of the debug port, by name only: tests do not link to plugins. */
    private record DebugconTo(String chardev) {}

    @BeforeEach
    void needsKvm() {
        Kvm.assume();
    }

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"virtio-scsi-pci", "pvscsi", "megasas"})
    void seaBiosBootsADisk(String adapter) throws InterruptedException, IOException {
        Assumptions.assumeTrue(Files.exists(SEABIOS), "needs Debian's seabios package");
        byte[] image = new byte[1 << 20];
        System.arraycopy(bootSector("booted behind " + adapter), 0, image, 0, 512);
        Files.write(folder.resolve("boot.img"), image);
        MachineSpec spec = MachineSpec.named("bios")
                .memory("128MiB")
                .baseDir(folder)
                .chardev("tty0", "memory", Map.of())
                .firmware(SEABIOS)
                .drive("d", "file", Map.of("file", "boot.img"))
                .device("debugcon", "debugcon", new DebugconTo("tty0"))
                .device(adapter, Map.of("id", "scsi0"))
                .device("scsi-hd", Map.of("drive", "d", "bus", "scsi0"))
                .build();

        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            String text =
                    m.chardev("tty0").orElseThrow().console().orElseThrow().text(0);
            assertEquals(0, exit.exitCode(), text);
            assertTrue(text.contains("booted behind " + adapter), text);
        }
    }

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
