package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The README's first command, with the image in a folder of the test. */
class QuickstartTest {
    @TempDir
    Path folder = Path.of("");

    @BeforeEach
    void needsKvm() {
        Kvm.assume();
    }

    private Cli.Result quickstart(String... more) {
        String[] args = new String[4 + more.length];
        args[0] = "run";
        args[1] = Cli.root().resolve("examples/quickstart.yaml").toString();
        args[2] = "--set";
        args[3] = "drives.disk0.file=" + folder.resolve("disk.img");
        System.arraycopy(more, 0, args, 4, more.length);
        return Cli.run(folder, args);
    }

    @Test
    void quickstartVerifiesItsDiskAndReports() throws IOException {
        Cli.Result result = quickstart("--report", folder.resolve("report.json").toString());

        assertEquals(0, result.exitCode(), result.out() + result.err());
        assertTrue(result.out().contains("all data as written"), result.out());
        assertTrue(result.out().contains("on kvm"), result.out());
        JsonNode report = new ObjectMapper().readTree(Files.readString(folder.resolve("report.json")));
        assertTrue(report.get("reads").asLong() > 16384, report.toString());
        assertEquals(0, report.get("errors").asLong());
        for (String figure : new String[] {
            "iops",
            "bytesPerSecond",
            "latencyP50Nanos",
            "latencyP99Nanos",
            "exitsPerRequest",
            "interruptsPerRequest",
            "hostCpuNanosPerRequest"
        }) {
            assertTrue(report.get(figure).asDouble() > 0, figure + " in " + report);
        }
    }

    @Test
    void hostFileHoldsWhatTheGuestWrote() {
        quickstart("--set", "drives.disk0.size=4MiB", "--set", "boot.cmdline=seconds=0 seed=77");

        Cli.Result check = Cli.run(folder, "guest", "check-pattern", "disk.img", "--seed", "77");
        Cli.Result wrongSeed = Cli.run(folder, "guest", "check-pattern", "disk.img", "--seed", "78");

        assertEquals(0, check.exitCode(), check.err());
        assertEquals(2, wrongSeed.exitCode(), wrongSeed.out());
    }

    @Test
    void everyCacheModeAndAioMethodKeepsTheData() {
        for (String cache : new String[] {"writeback", "none", "writethrough", "directsync", "unsafe"}) {
            for (String aio : new String[] {"threads", "auto"}) {
                Cli.Result result = quickstart(
                        "--set",
                        "drives.disk0.size=4MiB",
                        "--set",
                        "drives.disk0.cache=" + cache,
                        "--set",
                        "drives.disk0.aio=" + aio,
                        "--set",
                        "boot.cmdline=seconds=0");
                Cli.Result check = Cli.run(folder, "guest", "check-pattern", "disk.img");

                assertEquals(0, result.exitCode(), cache + " " + aio + ": " + result.out() + result.err());
                assertEquals(0, check.exitCode(), cache + " " + aio + ": " + check.err());
            }
        }
    }

    @Test
    void guestFailureIsExitCodeFour() {
        Cli.Result result = quickstart("--set", "boot.cmdline=nonsense=1");

        assertEquals(4, result.exitCode(), result.out());
        assertTrue(result.err().contains("guest exited with code 2"), result.err());
    }

    @Test
    void typoIsOneLineWithPositionAndSuggestion() {
        Cli.Result result = quickstart("--set", "devices[1].ioevntfd=on");

        assertEquals(2, result.exitCode());
        assertEquals(1, result.err().strip().lines().count(), result.err());
        assertTrue(result.err().contains("devices[1].ioevntfd"), result.err());
        assertTrue(result.err().contains("did you mean \"ioeventfd\"?"), result.err());
    }

    @Test
    void secondWriterOfAnImageIsRefusedNamingTheFile() throws IOException {
        Path yaml = folder.resolve("twice.yaml");
        Files.writeString(yaml, """
                name: twice
                memory: 64MiB
                boot: { guest: hello }
                drives:
                  a: { type: file, file: one.img, size: 1MiB, create: true }
                  b: { type: file, file: one.img }
                devices:
                  - { type: virtio-blk-pci, drive: a }
                  - { type: virtio-blk-pci, drive: b }
                """);

        Cli.Result result = Cli.run(folder, "run", yaml.toString());

        assertEquals(3, result.exitCode(), result.err());
        assertTrue(result.err().contains("one.img"), result.err());
    }
}
