package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.PluginRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
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
        byte[] image = new byte[1 << 20];
        System.arraycopy(IdeMachineTest.bootSector("booted behind " + adapter), 0, image, 0, 512);

        assertTrue(boot(adapter, "scsi-hd", image).contains("booted behind " + adapter));
    }

    @Test
    void seaBiosBootsACd() throws InterruptedException, IOException {
        assertTrue(boot("virtio-scsi-pci", "scsi-cd", IdeMachineTest.elTorito()).contains("booted from the disc"));
    }

    private String boot(String adapter, String drive, byte[] image) throws InterruptedException, IOException {
        Assumptions.assumeTrue(Files.exists(SEABIOS), "needs Debian's seabios package");
        Files.write(folder.resolve("boot.img"), image);
        MachineSpec spec = MachineSpec.named("bios")
                .memory("128MiB")
                .baseDir(folder)
                .chardev("tty0", "memory", Map.of())
                .firmware(SEABIOS)
                .drive("d", "file", Map.of("file", "boot.img"))
                .device("debugcon", "debugcon", new DebugconTo("tty0"))
                .device(adapter, Map.of("id", "scsi0"))
                .device(drive, Map.of("drive", "d", "bus", "scsi0"))
                .build();

        try (Machine m = Machine.create(spec, plugins)) {
            m.start();
            Optional<MachineExit> exit = m.awaitExit(SOON);

            String text =
                    m.chardev("tty0").orElseThrow().console().orElseThrow().text(0);
            assertEquals(Optional.of(0), exit.map(MachineExit::exitCode), text);
            return text;
        }
    }
}
