package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.shell.lab.Lab;
import org.benchtop.shell.lab.Screen;
import org.benchtop.shell.lab.Vm;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Boot loaders that nobody here wrote, started by a firmware that nobody here wrote, read their files from disks and discs
 * behind every controller and show them on the text screen.
 */
@Timeout(600)
final class BootLoadersTest {
    private static final Duration LIMIT = Duration.ofSeconds(120);
    private static final Path SEABIOS = Path.of("/usr/share/seabios/bios-256k.bin");
    private static final Path GRUB = Path.of("/usr/lib/grub/i386-pc");
    private static final Path ISOLINUX = Path.of("/usr/lib/ISOLINUX/isolinux.bin");
    private static final Path LDLINUX = Path.of("/usr/lib/syslinux/modules/bios/ldlinux.c32");
    private static final int SECTOR = 512;
    private static final int PARTITION_SECTOR = 2048;
    private static final int PARTITION_SECTORS = 8192;

    @TempDir
    Path folder = Path.of("");

    @AfterEach
    void closeMachines() {
        Lab.closeAll();
    }

    private void run(String... command) throws IOException, InterruptedException {
        Path log = folder.resolve("log");
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        boolean ended = process.waitFor(60, TimeUnit.SECONDS);
        assertTrue(ended && process.exitValue() == 0, List.of(command) + ": " + Files.readString(log));
    }

    private static void needs(Path file, String debianPackage) {
        Assumptions.assumeTrue(Files.exists(file), "needs Debian's package " + debianPackage);
    }

    /** A disk with Debian's GRUB before its only partition, which holds a file that GRUB shows. */
    private void grubDisk(String hello) throws IOException, InterruptedException {
        needs(SEABIOS, "seabios");
        needs(GRUB.resolve("boot.img"), "grub-pc-bin");
        needs(Path.of("/usr/bin/grub-mkimage"), "grub-common");
        needs(Path.of("/sbin/mke2fs"), "e2fsprogs");
        Files.writeString(folder.resolve("early.cfg"), "cat (hd0,msdos1)/hello.txt\n");
        run(
                "/usr/bin/grub-mkimage",
                "-O",
                "i386-pc",
                "-d",
                GRUB.toString(),
                "-p",
                "(hd0,msdos1)/boot",
                "-c",
                "early.cfg",
                "-o",
                "core.img",
                "biosdisk",
                "part_msdos",
                "ext2",
                "cat");
        Path files = Files.createDirectory(folder.resolve("files"));
        Files.writeString(files.resolve("hello.txt"), hello + "\n");
        run("/sbin/mke2fs", "-q", "-t", "ext2", "-d", "files", "ext2.img", PARTITION_SECTORS / 2 + "k");
        byte[] core = Files.readAllBytes(folder.resolve("core.img"));
        assertTrue(core.length <= (PARTITION_SECTOR - 1) * SECTOR, "core.img is too long");
        byte[] disk = new byte[(PARTITION_SECTOR + PARTITION_SECTORS) * SECTOR];
        byte[] boot = Files.readAllBytes(GRUB.resolve("boot.img"));
        // Without the code for floppies, which lies where the partition table is: that gets one entry of type 83.
        System.arraycopy(boot, 0, disk, 0, 446);
        disk[446] = (byte) 0x80;
        disk[450] = (byte) 0x83;
        putInt(disk, 454, PARTITION_SECTOR);
        putInt(disk, 458, PARTITION_SECTORS);
        disk[510] = 0x55;
        disk[511] = (byte) 0xaa;
        System.arraycopy(core, 0, disk, SECTOR, core.length);
        byte[] ext2 = Files.readAllBytes(folder.resolve("ext2.img"));
        System.arraycopy(ext2, 0, disk, PARTITION_SECTOR * SECTOR, ext2.length);
        Files.write(folder.resolve("boot.img"), disk);
    }

    private static void putInt(byte[] to, int at, int value) {
        for (int i = 0; i < 4; i++) {
            to[at + i] = (byte) (value >>> 8 * i);
        }
    }

    /** A disc with isolinux, whose configuration says something. */
    private void isolinuxDisc(String hello) throws IOException, InterruptedException {
        needs(SEABIOS, "seabios");
        needs(ISOLINUX, "isolinux");
        needs(LDLINUX, "syslinux-common");
        needs(Path.of("/usr/bin/xorriso"), "xorriso");
        Path tree = Files.createDirectories(folder.resolve("tree/isolinux"));
        Files.copy(ISOLINUX, tree.resolve("isolinux.bin"));
        Files.copy(LDLINUX, tree.resolve("ldlinux.c32"));
        Files.writeString(tree.resolve("isolinux.cfg"), "DEFAULT none\nPROMPT 1\nSAY " + hello + "\n");
        run(
                "/usr/bin/xorriso",
                "-as",
                "mkisofs",
                "-quiet",
                "-o",
                "boot.img",
                "-b",
                "isolinux/isolinux.bin",
                "-c",
                "isolinux/boot.cat",
                "-no-emul-boot",
                "-boot-load-size",
                "4",
                "-boot-info-table",
                "tree");
    }

    private MachineSpec machine(String controller, String device) {
        MachineSpecBuilder spec = MachineSpec.named("loader")
                .accel(System.getProperty("benchtop.accel", "soft"))
                .memory("128MiB")
                .baseDir(folder)
                .firmware(SEABIOS)
                .display("vga-text")
                .drive("d", "file", Map.of("file", "boot.img"));
        if (controller.equals("-")) {
            return spec.device(device, Map.of("drive", "d", "bootindex", 0)).build();
        }
        return spec.device(controller, Map.of("id", "bus0"))
                .device(device, Map.of("drive", "d", "bus", "bus0", "bootindex", 0))
                .build();
    }

    private Screen boot(MachineSpec spec, String expected) throws InterruptedException {
        Vm vm = Lab.machine(spec).start();
        Screen screen = vm.expectScreen(expected, LIMIT);
        vm.stop();
        return screen;
    }

    private void bootsGrub(String controller, String device) throws IOException, InterruptedException {
        String hello = "read by GRUB from " + device + " behind " + controller;
        grubDisk(hello);

        Screen screen = boot(machine(controller, device), "^" + hello + "$");

        assertTrue(screen.text().contains("GRUB"), screen.text());
    }

    private void bootsIsolinux(String controller, String device) throws IOException, InterruptedException {
        String hello = "read by isolinux from " + device + " behind " + controller;
        isolinuxDisc(hello);

        Screen screen = boot(machine(controller, device), "^" + hello + "$");

        assertTrue(screen.text().contains("ISOLINUX"), screen.text());
    }

    @Test
    void grubReadsItsFileFromASataDisk() throws IOException, InterruptedException {
        bootsGrub("ich9-ahci", "ide-hd");
    }

    @Test
    void isolinuxReadsItsConfigurationFromAnIdeCd() throws IOException, InterruptedException {
        bootsIsolinux("piix3-ide", "ide-cd");
    }

    @ParameterizedTest
    @CsvSource({
        "piix3-ide,ide-hd",
        "piix4-ide,ide-hd",
        "lsi53c895a,scsi-hd",
        "pvscsi,scsi-hd",
        "megasas,scsi-hd",
        "virtio-scsi-pci,scsi-hd",
        "-,virtio-blk-pci"
    })
    @Tag("nightly")
    void grubReadsItsFile(String controller, String device) throws IOException, InterruptedException {
        bootsGrub(controller, device);
    }

    @ParameterizedTest
    @CsvSource({"ich9-ahci,ide-cd", "lsi53c895a,scsi-cd", "pvscsi,scsi-cd", "megasas,scsi-cd", "virtio-scsi-pci,scsi-cd"
    })
    @Tag("nightly")
    void isolinuxReadsItsConfiguration(String controller, String device) throws IOException, InterruptedException {
        bootsIsolinux(controller, device);
    }

    /** Without an order firmware would start the first disk that it finds. */
    @Test
    void bootIndexChoosesTheDisk() throws IOException, InterruptedException {
        needs(SEABIOS, "seabios");
        List<String> names = List.of("first", "second", "third");
        MachineSpecBuilder spec = MachineSpec.named("order")
                .accel(System.getProperty("benchtop.accel", "soft"))
                .memory("128MiB")
                .baseDir(folder)
                .firmware(SEABIOS)
                .chardev("log", "memory", Map.of())
                .device("debugcon", "debugcon", new DebugconTo("log"))
                .device("lsi53c895a", Map.of("id", "bus0"));
        List<Map<String, Object>> options = new ArrayList<>();
        options.add(Map.of("drive", "first", "bus", "bus0"));
        options.add(Map.of("drive", "second", "bus", "bus0", "bootindex", 7));
        options.add(Map.of("drive", "third", "bus", "bus0", "bootindex", 3));
        for (int i = 0; i < names.size(); i++) {
            byte[] image = new byte[1 << 20];
            System.arraycopy(IdeMachineTest.bootSector("disk " + names.get(i)), 0, image, 0, SECTOR);
            Files.write(folder.resolve(names.get(i) + ".img"), image);
            spec = spec.drive(names.get(i), "file", Map.of("file", names.get(i) + ".img"))
                    .device("scsi-hd", options.get(i));
        }

        Vm vm = Lab.machine(spec.build()).start();
        vm.awaitExit(LIMIT);

        assertTrue(
                vm.console().transcript().contains("disk third"), vm.console().transcript());
    }

    private record DebugconTo(String chardev) {}
}
