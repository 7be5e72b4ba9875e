package org.benchtop.shell.qemu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.shell.lab.Lab;
import org.benchtop.shell.lab.Vm;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QemuCommandLineTest {
    @TempDir
    Path folder = Path.of("");

    private static MachineSpec spec(String line) {
        return QemuCommandLine.parse(line).spec();
    }

    private static String type(MachineSpec spec, String drive) {
        return Objects.requireNonNull(spec.drives().get(drive), drive).type();
    }

    @Test
    void kernelWithVirtioDiskBecomesTheSameMachine() {
        MachineSpec spec = spec("""
                qemu-system-x86_64 -name lab -enable-kvm -m 1G -smp 2 \\
                  -kernel vmlinuz -initrd initrd.img -append "console=ttyS0 root=/dev/vda" \\
                  -object iothread,id=io0 \\
                  -drive file=disk.img,if=none,id=d0,format=raw,cache=none,aio=io_uring \\
                  -device virtio-blk-pci,drive=d0,iothread=io0,num-queues=2,ioeventfd=off \\
                  -nographic -no-reboot""");

        assertEquals("lab", spec.name());
        assertEquals("kvm", spec.accel().type());
        assertEquals(2, spec.cpus());
        assertEquals(1L << 30, spec.memory().sizeBytes());
        BootSpec.Kernel kernel = assertInstanceOf(BootSpec.Kernel.class, spec.boot());
        assertEquals(Path.of("vmlinuz"), kernel.kernel());
        assertEquals("console=ttyS0 root=/dev/vda", kernel.cmdline());
        assertEquals(List.of("io0"), spec.iothreads());
        assertEquals(MachineSpec.OnReboot.STOP, spec.onReboot());
        MachineSpec expected = MachineSpec.parse("""
                name: lab
                accel: kvm
                cpus: 2
                memory: 1GiB
                boot: { kernel: vmlinuz, initrd: initrd.img, cmdline: "console=ttyS0 root=/dev/vda" }
                iothreads: [io0]
                drives:
                  d0: { type: file, file: disk.img, cache: none, aio: io-uring }
                chardevs:
                  serial0: { type: stdio }
                devices:
                  - { type: isa-serial, chardev: serial0 }
                  - { type: virtio-blk-pci, drive: d0, iothread: io0, queues: 2, ioeventfd: off }
                on-reboot: stop
                """);
        assertEquals(expected.toYaml(), spec.toYaml());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-m 512 | 536870912",
                "-m 2g | 2147483648",
                "-m size=64M,slots=2 | 67108864",
                "-smp 1 | 134217728",
            })
    void memoryIsInMebibytesWithoutUnit(String options, long bytes) {
        assertEquals(bytes, spec(options).memory().sizeBytes());
    }

    @Test
    void processorsAreTheProductOfTheTopology() {
        assertEquals(12, spec("-smp sockets=2,cores=3,threads=2").cpus());
    }

    @Test
    void hardDisksAndCompactDiscsSitOnIde() {
        MachineSpec spec = spec("qemu-system-x86_64 -hda disk.qcow2 -cdrom debian.iso");

        assertEquals("qcow2", type(spec, "hda"));
        assertEquals(
                List.of("ide-hd", "ide-cd"),
                spec.devices().stream().map(device -> device.type()).toList());
    }

    /** Not only a description: a machine is made of it, with the drives where QEMU has them. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-hdb DISK -cdrom DISC | PCI 00:01.1 | channel: 0, unit: 1 | channel: 1, unit: 0",
                "-drive file=DISK,format=raw,index=3 -drive file=DISC,index=0,media=cdrom | PCI 00:01.1 | channel: 1, unit: 1 | channel: 0, unit: 0",
                "-blockdev driver=file,node-name=d,filename=DISK -device ide-hd,drive=d,bus=ide.1,unit=1,serial=A1 | PCI 00:01.1 | channel: 1, unit: 1 | serial: A1",
                "-device ich9-ahci,id=sata -drive id=d,file=DISK,if=none,format=raw -device ide-hd,drive=d,bus=sata.3 | ich9-ahci | bus: sata | channel: 3",
                "-device virtio-scsi-pci,id=s -drive id=d,file=DISK,if=none,format=raw -device scsi-hd,drive=d,bus=s.0,scsi-id=3,lun=0 | virtio-scsi-pci | bus: s | scsi-id: 3",
                "-drive file=DISK,if=scsi,format=raw | lsi53c895a | type: lsi53c895a | bus: scsi0",
            })
    void drivesOfQemuAreMade(String options, String place, String first, String second) throws IOException {
        Path disk = Files.write(folder.resolve("disk.img"), new byte[1 << 20]);
        Path disc = Files.write(folder.resolve("disc.iso"), new byte[1 << 20]);
        MachineSpec spec =
                spec("-m 64M " + options.replace("DISK", disk.toString()).replace("DISC", disc.toString()));
        String yaml = spec.toYaml().replaceFirst("(?m)^boot:.*$", "boot: { guest: hello }");

        try (Vm vm = Lab.machine(yaml)) {
            assertTrue(
                    vm.devices().toString().contains(place), () -> vm.devices().toString());
        }

        for (String part : (first + ", " + second).split(", ")) {
            assertTrue(yaml.contains(part), yaml);
        }
    }

    @Test
    void blockdevOverAFileIsOneDrive() {
        MachineSpec spec = spec("-blockdev driver=file,node-name=f,filename=a.qcow2,cache.direct=on"
                + " -blockdev driver=qcow2,node-name=q,file=f -device virtio-blk,drive=q");

        assertEquals(List.of("q"), List.copyOf(spec.drives().keySet()));
        assertEquals("qcow2", type(spec, "q"));
        assertTrue(spec.toYaml().contains("file: a.qcow2"), spec.toYaml());
        assertTrue(spec.toYaml().contains("cache: none"), spec.toYaml());
    }

    @Test
    void whatIsLeftOutIsSaid() {
        QemuCommandLine.Translation translation =
                QemuCommandLine.parse("-kernel k -display none -M q35 -cpu Skylake,+x2apic");

        assertEquals(3, translation.notes().size(), () -> translation.notes().toString());
        assertTrue(translation.notes().stream().anyMatch(note -> note.contains("q35")));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-frobnicate 3 | CONFIG | unknown option -frobnicate",
                "-m | CONFIG | -m needs a value",
                "-m lots | CONFIG | -m lots",
                "-snapshot | UNSUPPORTED | -snapshot",
                "-M microvm | UNSUPPORTED | microvm",
                "-drive if=virtio | CONFIG | file=",
                "-append quiet | CONFIG | -kernel",
                "-kernel 'k | CONFIG | is not closed",
            })
    void badOptionIsNamed(String line, ErrorKind kind, String part) {
        BenchtopException e = assertThrows(BenchtopException.class, () -> spec(line));

        assertEquals(kind, e.kind());
        assertTrue(e.getMessage().contains(part), e.getMessage());
    }

    @Test
    void doubledCommaIsAComma() {
        assertTrue(spec("-drive file=a,,b.img,if=virtio,format=raw").toYaml().contains("\"a,b.img\"")
                || spec("-drive file=a,,b.img,if=virtio,format=raw").toYaml().contains("a,b.img"));
    }
}
