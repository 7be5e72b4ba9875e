package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** IDE and AHCI in machines on KVM: with our guest drivers, and with a firmware that nobody here wrote. */
@Timeout(300)
class IdeMachineTest {
    private static final Duration SOON = Duration.ofSeconds(240);
    private static final Path SEABIOS = Path.of("/usr/share/seabios/bios-256k.bin");
    private static final int CD_SECTOR = 2048;
    private static final int CATALOG = 19;
    private static final int BOOT_IMAGE = 20;

    @TempDir
    Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @BeforeEach
    void needsKvm() {
        Kvm.assume();
    }

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private MachineSpecBuilder machine(String name) {
        return MachineSpec.named(name).memory("128MiB").baseDir(folder).chardev("tty0", "memory", Map.of());
    }

    private MachineSpecBuilder check(String cmdline) {
        return machine("check")
                .guest("diskcheck", "seconds=0 " + cmdline)
                .device("isa-serial", Map.of("chardev", "tty0"))
                .drive("d", "file", Map.of("file", "disk.img", "size", "2MiB", "create", true));
    }

    private String run(MachineSpec spec) throws InterruptedException {
        try (Machine m = Machine.create(spec, plugins)) {
            m.start();

            MachineExit exit = m.awaitExit(SOON).orElseThrow();

            String text =
                    m.chardev("tty0").orElseThrow().console().orElseThrow().text(0);
            assertEquals(0, exit.exitCode(), text);
            return text;
        }
    }

    @Test
    void diskCheckRunsOnTheControllerThatADiskBringsAlong() throws InterruptedException {
        String text = run(check("").device("ide-hd", Map.of("drive", "d")).build());

        assertTrue(text.contains("all data as written"), text);
    }

    @Test
    void diskCheckRunsOnASlaveByProgrammedIo() throws InterruptedException {
        String text = run(check("pio=1 size=16384")
                .device("piix4-ide", Map.of("id", "ide0"))
                .device("ide-hd", Map.of("drive", "d", "bus", "ide0", "channel", 1, "unit", 1))
                .build());

        assertTrue(text.contains("all data as written"), text);
    }

    @Test
    void diskCheckRunsOnAhciWithQueuedCommands() throws InterruptedException {
        String text = run(check("iodepth=32")
                .device("ich9-ahci", Map.of("id", "sata"))
                .device("ide-hd", Map.of("drive", "d", "bus", "sata", "channel", 3))
                .build());

        assertTrue(text.contains("all data as written"), text);
    }

    @Test
    void seaBiosBootsAnIdeDisk() throws InterruptedException, IOException {
        byte[] image = new byte[1 << 20];
        System.arraycopy(bootSector("booted from the disk"), 0, image, 0, 512);

        String text = boot(image, Map.of("drive", "d"), "ide-hd", false);

        assertTrue(text.contains("booted from the disk"), text);
    }

    @Test
    void seaBiosBootsACdBehindAhci() throws InterruptedException, IOException {
        String text = boot(elTorito(), Map.of("drive", "d", "bus", "sata"), "ide-cd", true);

        assertTrue(text.contains("booted from the disc"), text);
    }

    private String boot(byte[] image, Map<String, Object> drive, String type, boolean ahci)
            throws InterruptedException, IOException {
        Assumptions.assumeTrue(Files.exists(SEABIOS), "needs Debian's seabios package");
        Files.write(folder.resolve("boot.img"), image);
        MachineSpecBuilder spec = machine("bios")
                .firmware(SEABIOS)
                .drive("d", "file", Map.of("file", "boot.img"))
                .device("debugcon", "debugcon", new DebugconTo("tty0"));
        if (ahci) {
            spec = spec.device("ich9-ahci", Map.of("id", "sata"));
        }
        return run(spec.device(type, drive).build());
    }

    /** The options of the debug port, by name only: tests do not link to plugins. */
    private record DebugconTo(String chardev) {}

    /** Real-mode code that prints a text on the debug port and ends the machine with code 0. */
    static byte[] bootSector(String text) {
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

    /** A disc with nothing but a boot image without emulation (El Torito 1.0, 2). */
    static byte[] elTorito() {
        ByteBuffer disc = ByteBuffer.allocate(64 * CD_SECTOR).order(ByteOrder.LITTLE_ENDIAN);
        for (int sector = 16; sector <= 18; sector++) {
            int type = sector == 16 ? 1 : sector == 17 ? 0 : 0xff;
            disc.position(sector * CD_SECTOR);
            disc.put((byte) type)
                    .put("CD001".getBytes(StandardCharsets.US_ASCII))
                    .put((byte) 1);
        }
        disc.position(17 * CD_SECTOR + 7);
        disc.put("EL TORITO SPECIFICATION".getBytes(StandardCharsets.US_ASCII));
        disc.putInt(17 * CD_SECTOR + 0x47, CATALOG);
        disc.put(CATALOG * CD_SECTOR, (byte) 1);
        disc.putShort(CATALOG * CD_SECTOR + 28, (short) (0x10000 - 0xaa55 - 1));
        disc.putShort(CATALOG * CD_SECTOR + 30, (short) 0xaa55);
        int entry = CATALOG * CD_SECTOR + 32;
        disc.put(entry, (byte) 0x88);
        disc.putShort(entry + 6, (short) 4);
        disc.putInt(entry + 8, BOOT_IMAGE);
        disc.position(BOOT_IMAGE * CD_SECTOR);
        disc.put(bootSector("booted from the disc"));
        return disc.array();
    }
}
