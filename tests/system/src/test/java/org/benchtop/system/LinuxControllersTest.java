package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.engine.plugin.TypeKind;
import org.benchtop.guests.debian.DebianFiles;
import org.benchtop.guests.debian.DebianGuest;
import org.benchtop.guests.debian.DebianOptions;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Debian's full kernel with its own drivers on the software CPU finds, partitions, formats, mounts, writes, syncs, trims,
 * unmounts and checks a disk on a controller, and says nothing of errors or resets; the host finds the same bytes.
 *
 * <p>By default one controller of those below; {@code -Dbenchtop.controllers=all}, or names with commas, chooses others.
 * Skipped without apt, or without network where nothing is cached.
 */
@Timeout(value = 20, unit = TimeUnit.MINUTES)
final class LinuxControllersTest {
    private static final Duration LIMIT = Duration.ofMinutes(15);
    private static final int DISK_BYTES = 48 << 20;

    /** A controller with a disk, and the driver that Linux has for it. */
    private enum Controller {
        PIIX3_IDE("piix3-ide", "ide-hd", "ata_piix"),
        PIIX4_IDE("piix4-ide", "ide-hd", "ata_piix"),
        ICH9_AHCI("ich9-ahci", "ide-hd", "ahci"),
        LSI53C895A("lsi53c895a", "scsi-hd", "sym53c8xx"),
        VIRTIO_SCSI("virtio-scsi-pci", "scsi-hd", "virtio_pci", "virtio_scsi"),
        PVSCSI("pvscsi", "scsi-hd", "vmw_pvscsi"),
        MEGASAS("megasas", "scsi-hd", "megaraid_sas");

        final String type;
        final String disk;
        final List<String> modules;

        Controller(String type, String disk, String... modules) {
            this.type = type;
            this.disk = disk;
            this.modules = List.of(modules);
        }

        @Override
        public String toString() {
            return type;
        }
    }

    private static final String SESSION = """
            set -e
            n=0
            until [ -b /dev/sda ]; do usleep 50000; n=$((n+1)); [ $n -lt 2400 ]; done
            echo "model $(cat /sys/block/sda/device/vendor | xargs) $(cat /sys/block/sda/device/model | xargs)"
            echo "queue depth $(cat /sys/block/sda/device/queue_depth 2>/dev/null)"
            printf 'label: dos\\nstart=2048, type=83\\n' | sfdisk -q /dev/sda
            until [ -b /dev/sda1 ]; do usleep 50000; done
            mkfs.ext4 -q /dev/sda1
            mount -t ext4 -o discard /dev/sda1 /mnt
            yes "a line of the guest" | head -c 9000000 >/mnt/lines
            dd if=/mnt/lines of=/mnt/synced bs=64k conv=fsync 2>/dev/null
            echo 3 >/proc/sys/vm/drop_caches
            echo "sum $(sha256sum </mnt/synced | cut -d' ' -f1)"
            rm /mnt/lines
            fstrim /mnt && echo "trimmed"
            sync
            umount /mnt
            echo 3 >/proc/sys/vm/drop_caches
            e2fsck -f -n /dev/sda1 && echo "checked"
            echo "disk $(sha256sum </dev/sda | cut -d' ' -f1)"
            # The driver's own reset at its start, and the unit attention that follows, are as they should be; megaraid_sas
            # speaks of resets when it lists what its firmware can do.
            dmesg | grep -E 'sym0|scsi|sd [0-9]|sda|ata[0-9]|ahci|I/O|EXT4|megaraid|vmw_pvscsi|virtio' \
              | grep -iE 'error|reset|time.?out|timed out|abort|exception|failed|frozen|offline|mismatch' \
              | grep -vE 'SCSI BUS has been reset|Power-on or device reset|Online Controller Reset\\(OCR\\)|TM TaskAbort/Reset timeout' >/tmp/complaints || true
            cat /tmp/complaints
            echo "complaints $(wc -l </tmp/complaints)"
            dmesg | grep -E 'sym0|scsi|sd [0-9]|ata[0-9]|ahci' >&2
            echo "session complete"
            """;

    @TempDir
    Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @BeforeEach
    void needsTheSoftwareCpu() {
        Assumptions.assumeTrue(plugins.names(TypeKind.CPU_ENGINE).contains("soft"), "needs the software CPU");
    }

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    static Stream<Controller> controllers() {
        String wanted = System.getProperty("benchtop.controllers", Controller.LSI53C895A.type);
        List<String> names = List.of(wanted.split(","));
        return Arrays.stream(Controller.values()).filter(c -> wanted.equals("all") || names.contains(c.type));
    }

    private static DebianFiles prepare(Controller controller) {
        List<String> modules = new ArrayList<>(List.of("crc32c_generic", "sd_mod", "ext4"));
        modules.addAll(controller.modules);
        DebianOptions options = DebianOptions.minimal()
                .withKernel("full")
                .withModules(modules.toArray(String[]::new))
                .withPackages("fdisk", "e2fsprogs")
                .withScript(SESSION);
        try {
            return DebianGuest.prepare(options, path -> path, what -> {});
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.kind() == ErrorKind.HOST, e.getMessage());
            throw e;
        }
    }

    private MachineSpec machine(Controller controller, DebianFiles files) {
        MachineSpecBuilder spec = MachineSpec.named("linux")
                .accel("soft")
                .memory("256MiB")
                .baseDir(folder)
                .kernel(
                        files.kernel(),
                        Optional.of(files.initrd()),
                        "console=ttyS0 panic=-1 cryptomgr.notests loglevel=4")
                .onReboot(MachineSpec.OnReboot.STOP)
                .chardev("tty0", "memory", Map.of())
                .device("isa-serial", Map.of("chardev", "tty0"))
                .drive("d", "file", Map.of("file", "disk.img", "size", DISK_BYTES, "create", true))
                .device(controller.type, Map.of("id", "bus0"));
        return spec.device(controller.disk, Map.of("drive", "d", "bus", "bus0")).build();
    }

    private static String sha256(Path file) throws IOException {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            try (var in = new DigestInputStream(Files.newInputStream(file), digest)) {
                in.transferTo(java.io.OutputStream.nullOutputStream());
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @MethodSource("controllers")
    @Tag("nightly")
    void driverUsesADiskWithoutComplaint(Controller controller) throws IOException, InterruptedException {
        Assumptions.assumeTrue(plugins.names(TypeKind.DEVICE).contains(controller.type), "needs " + controller);
        Assumptions.assumeTrue(plugins.names(TypeKind.DEVICE).contains(controller.disk), "needs " + controller.disk);
        DebianFiles files = prepare(controller);

        String console;
        try (Machine m = Machine.create(machine(controller, files), plugins)) {
            m.start();
            Optional<MachineExit> exit = m.awaitExit(LIMIT);

            console = m.chardev("tty0")
                    .orElseThrow()
                    .console()
                    .map(c -> c.text(0))
                    .orElseThrow()
                    .replace("\r", "");
            assertTrue(exit.isPresent() && exit.get() instanceof MachineExit.PowerOff, exit + "\n" + console);
            if (controller == Controller.LSI53C895A) {
                long commands = m.stats().value("bus0", "commands");
                long negotiations = m.stats().value("bus0", "negotiations");
                assertTrue(
                        commands > 100 && negotiations < commands / 10,
                        negotiations + " negotiations for " + commands + " commands");
                console += "negotiations " + negotiations + " commands " + commands + "\n";
            }
        }
        for (String line : List.of("trimmed", "checked", "complaints 0", "session complete")) {
            assertTrue(console.contains("\n" + line + "\n"), "no \"" + line + "\" in\n" + console);
        }
        String sum = sha256(folder.resolve("disk.img"));
        assertTrue(console.contains("\ndisk " + sum + "\n"), "the host reads " + sum + "\n" + console);
        assertEquals(DISK_BYTES, Files.size(folder.resolve("disk.img")));
        if (Boolean.getBoolean("benchtop.show")) {
            System.out.println(console);
        }
    }
}
