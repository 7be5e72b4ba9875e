package org.benchtop.bench.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.experiment.ExperimentOverrides;
import org.benchtop.bench.experiment.ExperimentReader;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.junit.jupiter.api.Test;

class CaseMachinesTest {
    private static MachineSpec machine(String vm, int guest) {
        String text = "experiment: x\njob: { guest: diskbench }\nvm:\n" + vm.indent(2);
        CaseSpec spec = ExperimentReader.parse(text, Path.of("/lab/x.yaml"), ExperimentOverrides.NONE)
                .cases()
                .getFirst();
        return CaseMachines.spec(spec, guest, Path.of("/scratch"), "rw=read");
    }

    private static List<String> devices(MachineSpec machine) {
        return machine.devices().stream().map(EntrySpec::type).toList();
    }

    @Test
    void theMachineBootsTheJobWithItsOwnNameAndConsole() {
        MachineSpec machine = machine("""
                name: quickstart
                boot: { kernel: vmlinux }
                chardevs: { tty0: { type: stdio } }
                devices:
                  - { type: isa-serial, chardev: tty0 }
                on-reboot: restart
                """, 2);

        assertEquals("bench-2", machine.name());
        assertEquals(new BootSpec.Guest("diskbench", "rw=read"), machine.boot());
        assertEquals(List.of("isa-serial"), devices(machine));
        assertEquals(
                List.of(CaseMachines.CONSOLE), List.copyOf(machine.chardevs().keySet()));
        assertEquals(
                "memory",
                java.util.Objects.requireNonNull(machine.chardevs().get(CaseMachines.CONSOLE))
                        .type());
        assertTrue(machine.toYaml().contains("chardev: " + CaseMachines.CONSOLE), machine.toYaml());
        assertEquals(MachineSpec.OnReboot.STOP, machine.onReboot());
    }

    @Test
    void withoutSerialPortOneIsAdded() {
        assertEquals(List.of("exit", "isa-serial"), devices(machine("devices: [{ type: exit }]", 0)));
        assertEquals(List.of("isa-serial"), devices(machine("cpus: 1", 0)));
    }

    @Test
    void imagesAreNamedByGuestAndFolder() {
        MachineSpec machine = machine("""
                drives:
                  a: { type: file, file: "${scratch}/a-${guest}.img", size: 2MiB, create: on }
                  b: { type: file, file: b.img }
                  c: { type: "null", size: 1MiB }
                """, 3);

        assertEquals(
                List.of(
                        new DiskImages.Image(Path.of("/scratch/a-3.img"), 2 << 20, true),
                        new DiskImages.Image(Path.of("/lab/b.img"), 0, false)),
                DiskImages.of(machine));
    }
}
