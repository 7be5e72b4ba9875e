package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.benchtop.engine.Machine;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.PluginRegistry;
import org.benchtop.guests.debian.DebianPackage;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.chardev.ConsoleBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs of Debian's archive that bring their own system, on the software CPU. Skipped without apt, or without network
 * where nothing is cached.
 */
@Timeout(value = 25, unit = TimeUnit.MINUTES)
class ForeignGuestsOnSoftCpuTest {
    private static final Duration LIMIT = Duration.ofMinutes(20);
    private static final String INSTALLER = "usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64/";
    private static final Pattern ERRORS = Pattern.compile("Errors: *[1-9]");

    @TempDir
    Path folder = Path.of("");

    private final PluginRegistry plugins = PluginRegistry.builtIn();

    @AfterEach
    void closePlugins() {
        plugins.close();
    }

    private static void extract(String name, Map<String, Path> targets) {
        try {
            DebianPackage.extract(name, targets, true, what -> {});
        } catch (BenchtopException e) {
            Assumptions.assumeFalse(e.kind() == ErrorKind.HOST, e.getMessage());
            throw e;
        }
    }

    /** Boots until a text is on the serial console, and returns all of it. */
    private String boot(Path kernel, Optional<Path> initrd, String memory, String cmdline, String until)
            throws InterruptedException {
        MachineSpec spec = MachineSpec.named("foreign")
                .accel("soft")
                .memory(memory)
                .baseDir(folder)
                .kernel(kernel, initrd, cmdline)
                .onReboot(MachineSpec.OnReboot.STOP)
                .chardev("tty0", "memory", Map.of())
                .device("isa-serial", Map.of("chardev", "tty0"))
                .build();
        try (Machine m = Machine.create(spec, plugins)) {
            ConsoleBuffer console = m.chardev("tty0").orElseThrow().console().orElseThrow();
            m.start();
            long seen = 0;
            while (!console.text(0).contains(until)) {
                long now = console.awaitOutput(seen, LIMIT);
                assertTrue(now > seen, "no more output; so far: " + console.text(0));
                seen = now;
            }
            return console.text(0);
        }
    }

    @Test
    @Tag("nightly")
    void memtestPassesItsFirstTestsWithoutErrors() throws InterruptedException {
        Path kernel = folder.resolve("memtest");
        extract("memtest86+", Map.of("boot/memtest86+x64.bin", kernel));

        // The name of the test behind the last one that is wanted.
        String screen =
                boot(kernel, Optional.empty(), "16MiB", "console=ttyS0,115200 nosmp", "#5  [Moving inversions, random");

        // Those before it are shown only if they take longer than the screen is refreshed.
        assertTrue(screen.contains("Errors: 0 "), screen);
        assertFalse(ERRORS.matcher(screen).find(), screen);
    }

    @Test
    @Tag("nightly")
    void installerShowsItsFirstScreen() throws InterruptedException {
        Path kernel = folder.resolve("linux");
        Path initrd = folder.resolve("initrd");
        extract(
                "debian-installer-12-netboot-amd64",
                Map.of(INSTALLER + "linux", kernel, INSTALLER + "initrd.gz", initrd));

        String screen = boot(
                kernel,
                Optional.of(initrd),
                "2GiB",
                "console=ttyS0 cryptomgr.notests",
                "Choose the language to be used");

        assertTrue(screen.contains("Select a language"), screen);
    }
}
