package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineExit;
import org.benchtop.engine.MachineState;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.MachineSpecBuilder;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.state.SavedState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Controllers and their disks are saved, reset and restored again and again while a guest checks every byte of a disk, in
 * the middle of its requests; the guest notices nothing.
 */
@Timeout(300)
final class ControllerStateTest {
    private static final Duration PERIOD = Duration.ofMillis(3);
    private static final Duration LIMIT = Duration.ofSeconds(240);

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

    private MachineSpec machine(String controller, String disk, String cmdline) {
        MachineSpecBuilder spec = MachineSpec.named("state")
                .memory("128MiB")
                .baseDir(folder)
                .chardev("tty0", "memory", Map.of())
                .guest("diskcheck", "seconds=0 " + cmdline)
                .device("isa-serial", Map.of("chardev", "tty0"))
                .drive("d", "file", Map.of("file", "disk.img", "size", "2MiB", "create", true));
        if (controller.equals("-")) {
            return spec.device(disk, Map.of("id", "disk0", "drive", "d")).build();
        }
        return spec.device(controller, Map.of("id", "bus0"))
                .device(disk, Map.of("id", "disk0", "drive", "d", "bus", "bus0"))
                .build();
    }

    @ParameterizedTest
    @CsvSource({
        "piix3-ide,ide-hd,size=262144",
        "piix4-ide,ide-hd,pio=1 size=16384",
        "ich9-ahci,ide-hd,iodepth=32",
        "lsi53c895a,scsi-hd,iodepth=32",
        "-,virtio-blk-pci,iodepth=32"
    })
    void guestDoesNotNoticeRoundTrips(String controller, String disk, String cmdline) throws InterruptedException {
        List<String> ids = controller.equals("-") ? List.of("disk0") : List.of("bus0", "disk0");
        try (Machine m = Machine.create(machine(controller, disk, cmdline), plugins)) {
            m.start();
            int roundTrips = roundTrip(m, ids) ? 1 : 0;
            long deadline = System.nanoTime() + LIMIT.toNanos();
            Optional<MachineExit> exit = m.awaitExit(PERIOD);
            while (exit.isEmpty() && System.nanoTime() < deadline) {
                roundTrips += roundTrip(m, ids) ? 1 : 0;
                exit = m.awaitExit(PERIOD);
            }

            String text = roundTrips + " round trips\n"
                    + m.chardev("tty0").orElseThrow().console().orElseThrow().text(0);
            assertEquals(Optional.of(0), exit.map(MachineExit::exitCode), text);
            assertTrue(text.contains("all data as written"), text);
            assertTrue(roundTrips > 0, roundTrips + " round trips");
        }
    }

    /** False if the guest has ended meanwhile. */
    private static boolean roundTrip(Machine m, List<String> ids) {
        try {
            m.pause();
            if (m.state() != MachineState.PAUSED) {
                return false;
            }
        } catch (BenchtopException e) {
            if (m.exit().isPresent()) {
                return false;
            }
            throw e;
        }
        try {
            Map<String, SavedState> saved = m.saveDevices(ids);
            m.restoreDevices(saved);
            m.resume();
            return true;
        } catch (BenchtopException e) {
            // The guest's last words may be carried out while it is paused.
            if (m.exit().isPresent()) {
                return false;
            }
            throw e;
        }
    }
}
