package org.benchtop.system;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.benchtop.engine.linux.LinuxHost;
import org.benchtop.spi.block.CacheMode;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table of docs/block.md: which system calls follow which request, and what is there after a kill. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class DurabilityTest {
    private static final Pattern CALL = Pattern.compile("^(?:\\d+ +)?([a-z0-9_]+)\\((.*)");

    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void needsLinux() {
        Assumptions.assumeTrue(LinuxHost.available(), "this is not Linux on x86-64");
    }

    private List<String> probe(String... args) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                DurabilityProbe.class.getName()));
        command.addAll(List.of(args));
        return command;
    }

    @Test
    void everyCacheModeMakesTheSystemCallsOfItsRow() throws IOException {
        Tools.assume("strace");
        Path file = folder.resolve("disk.img");
        Path log = folder.resolve("strace.log");
        List<String> command = new ArrayList<>(List.of(
                "strace",
                "-f",
                "-y",
                "-qq",
                "-e",
                "trace=open,openat,pwrite64,pwritev,pwritev2,fdatasync,fsync,sync_file_range,msync,fallocate,"
                        + "stat,newfstatat,statx,access,faccessat2",
                "-o",
                log.toString()));
        command.addAll(probe("calls", file.toString()));
        Tools.Result result = Tools.tryRun(folder, command.toArray(String[]::new));
        Assumptions.assumeFalse(result.output().contains("ptrace"), "strace may not trace here: " + result.output());
        Assumptions.assumeFalse(result.output().contains("O_DIRECT"), result.output());
        assertEquals(0, result.exitCode(), result.output());
        List<String> lines = Files.readAllLines(log);

        for (CacheMode cache : CacheMode.values()) {
            boolean keepsCache = cache.writeCache();
            boolean never = cache == CacheMode.UNSAFE;
            String open = String.join(" ", calls(lines, cache, "open", true));
            assertEquals(cache.direct(), open.contains("O_DIRECT"), cache + ": " + open);
            assertEquals(!keepsCache, open.contains("O_DSYNC"), cache + ": " + open);
            assertEquals(List.of("write"), calls(lines, cache, "write", false), cache + ": write");
            assertEquals(
                    never ? List.of() : List.of("fdatasync"), calls(lines, cache, "flush", false), cache + ": flush");
            assertEquals(
                    never || !keepsCache ? List.of("write") : List.of("write", "fdatasync"),
                    calls(lines, cache, "fua", false),
                    cache + ": durable write");
            for (String change : List.of("zeroes", "discard")) {
                List<String> calls = calls(lines, cache, change, false);
                assertEquals("fallocate", calls.getFirst(), cache + ": " + change + " " + calls);
                assertEquals(!keepsCache, calls.getLast().equals("fdatasync"), cache + ": " + change + " " + calls);
            }
            assertEquals(
                    never ? List.of() : List.of("fdatasync"), calls(lines, cache, "close", false), cache + ": close");
        }
    }

    /** The calls on the image between a mark and the next one: their kinds, or the whole lines. */
    private static List<String> calls(List<String> lines, CacheMode cache, String mark, boolean whole) {
        String begin = "/benchtop-mark/" + cache.name().toLowerCase(Locale.ROOT) + "/" + mark + "\"";
        List<String> calls = new ArrayList<>();
        boolean inside = false;
        for (String line : lines) {
            if (line.contains("/benchtop-mark/")) {
                // Looking for a file may take more than one call.
                inside = line.contains(begin);
                continue;
            }
            Matcher call = CALL.matcher(line);
            if (inside
                    && call.matches()
                    && call.group(2).contains("disk.img")
                    && !call.group(1).contains("stat")) {
                String kind = call.group(1).startsWith("pwrite") ? "write" : call.group(1);
                calls.add(whole ? line : kind);
            }
        }
        assertTrue(lines.stream().anyMatch(line -> line.contains(begin)), "no mark " + begin);
        return calls;
    }

    @ParameterizedTest
    @CsvSource({"WRITEBACK, THREADS", "NONE, AUTO", "WRITETHROUGH, AUTO"})
    void killedInTheMiddleOfWritingEverythingFlushedIsThere(String cache, String aio) throws Exception {
        Random random = new Random();
        Path file = folder.resolve("disk.img");
        Path errors = folder.resolve("probe.err");
        Process process = new ProcessBuilder(probe("write", file.toString(), cache, aio))
                .redirectError(errors.toFile())
                .start();
        int flushed = 0;
        try (BufferedReader out = process.inputReader()) {
            int flushes = 3 + random.nextInt(40);
            for (int i = 0; i < flushes; i++) {
                String line = out.readLine();
                Assumptions.assumeFalse(
                        line == null && Files.readString(errors).contains("O_DIRECT"), "no O_DIRECT here");
                flushed = Integer.parseInt(Objects.requireNonNull(line, () -> "the probe has ended: " + read(errors)));
            }
            // Through the handle, which leaves the pipe open, unlike the process.
            assertTrue(process.toHandle().destroyForcibly());
            // What it still managed to say counts too.
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                flushed = line.isEmpty() ? flushed : Integer.parseInt(line);
            }
        }
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertFalse(process.isAlive());

        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder());
        for (int slot = 0; slot < DurabilityProbe.SLOTS; slot++) {
            int promised = lastStamp(slot, flushed);
            for (int sector = 0; sector < DurabilityProbe.SLOT_BYTES; sector += 512) {
                int at = slot * DurabilityProbe.SLOT_BYTES + sector;
                int stamp = bytes.getInt(at);
                for (int i = 0; i < 512; i += 4) {
                    assertEquals(stamp, bytes.getInt(at + i), "slot " + slot + " sector " + sector / 512 + " is torn");
                }
                assertTrue(stamp >= promised, "slot " + slot + ": " + stamp + " is older than " + promised);
                assertEquals(slot, stamp % DurabilityProbe.SLOTS * (stamp == 0 ? 0 : 1) + (stamp == 0 ? slot : 0));
            }
        }
    }

    /** The last stamp up to {@code flushed} that went to a slot; 0 if none did. */
    private static int lastStamp(int slot, int flushed) {
        int behind = Math.floorMod(flushed - slot, DurabilityProbe.SLOTS);
        return Math.max(0, flushed - behind);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }
}
