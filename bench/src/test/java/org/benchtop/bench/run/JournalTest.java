package org.benchtop.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.benchtop.bench.Experiments;
import org.benchtop.bench.FakeCaseRunner;
import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTest {
    private static final HostFacts HOST = new HostFacts(Map.of("CPU", "fast"));

    @TempDir
    Path folder;

    private Path file;

    @BeforeEach
    void nameFile() {
        file = folder.resolve("deep/runs.jsonl");
    }

    private Journal open() {
        return Journal.open(file, "tiny", "abc", false);
    }

    private static RunRecord run(int block) throws InterruptedException {
        CaseSpec spec = Experiments.tiny().cases().getFirst();
        return new RunRecord(
                1,
                spec.id(),
                block,
                RunKind.MEASURED,
                1_700_000_000_000L,
                5_000_000_000L,
                Optional.of(
                        new FakeCaseRunner(Experiments::iops).run(new CaseRun(spec, RunKind.MEASURED, Path.of("/")))),
                "",
                new HostLoad(5_000_000_000L, 2, 0.5, 0.4, 0.1, 0, 0, 1.5, Map.of("make(7)", 0.2)),
                List.of("other processes"));
    }

    private static RunRecord failed() {
        return new RunRecord(
                1, "x", 1, RunKind.MEASURED, 1, 1, Optional.empty(), "HOST: fire", HostLoad.NONE, List.of());
    }

    @Test
    void whatWasRecordedIsReadBackTheSame() throws InterruptedException {
        RunRecord first = run(1);
        try (Journal journal = open()) {
            journal.startSession(5, HOST);
            journal.add(first);
            journal.add(failed());
        }

        try (Journal journal = open()) {
            assertEquals(List.of(new Session(1, 5, HOST)), journal.sessions());
            assertEquals(List.of(first, failed()), journal.runs());
            assertFalse(journal.cutLineDropped());
            assertEquals(2, journal.startSession(6, HOST).number());
        }
    }

    @Test
    void aLineThatWasCutOffIsDroppedAndTheRestGoesOn() throws IOException, InterruptedException {
        try (Journal journal = open()) {
            journal.startSession(5, HOST);
            journal.add(run(1));
            journal.add(run(2));
        }
        byte[] whole = Files.readAllBytes(file);
        for (int cut : new int[] {1, 2, 100, 1000}) {
            Files.write(file, java.util.Arrays.copyOf(whole, whole.length - cut));
            try (Journal journal = open()) {
                assertTrue(journal.cutLineDropped());
                assertEquals(1, journal.runs().size());
                journal.add(run(3));
            }
            try (Journal journal = open()) {
                assertFalse(journal.cutLineDropped());
                assertEquals(
                        List.of(1, 3),
                        journal.runs().stream().map(RunRecord::block).toList());
            }
        }
    }

    @Test
    void aCutOffHeaderStartsAnew() throws IOException {
        open().close();
        Files.writeString(file, Files.readString(file).substring(0, 10));

        try (Journal journal = open()) {
            assertTrue(journal.cutLineDropped());
        }
        assertTrue(Files.readString(file).contains("\"hash\":\"abc\""));
    }

    @Test
    void damageInTheMiddleIsRefused() throws IOException, InterruptedException {
        try (Journal journal = open()) {
            journal.startSession(5, HOST);
            journal.add(run(1));
        }
        List<String> lines = Files.readAllLines(file);
        Files.write(file, List.of(lines.get(0), "{\"type\":\"run\"", lines.get(2)));

        BenchtopException e = assertThrows(BenchtopException.class, this::open);

        assertEquals(file + ":2: damaged journal line; --restart sets the file aside and starts anew", e.getMessage());
    }

    @Test
    void runsOfAnotherSpecAreNotMixedIn() {
        open().close();

        BenchtopException e = assertThrows(BenchtopException.class, () -> Journal.open(file, "tiny", "def", false));

        assertEquals(
                file + ": holds runs of a different version of tiny (spec abc, now def): --restart sets them aside, "
                        + "--out DIR keeps both",
                e.getMessage());
    }

    @Test
    void restartKeepsTheOldFileUnderAnotherName() throws IOException, InterruptedException {
        try (Journal journal = open()) {
            journal.startSession(5, HOST);
            journal.add(run(1));
        }

        try (Journal journal = Journal.open(file, "tiny", "def", true)) {
            assertEquals(List.of(), journal.runs());
        }
        try (var files = Files.list(file.getParent())) {
            assertEquals(2, files.count());
        }
    }

    @Test
    void twoWritersAreRefused() {
        try (Journal first = open()) {
            BenchtopException e = assertThrows(BenchtopException.class, this::open);
            assertEquals(file + ": another benchtop bench is writing to it; wait for it or use --out", e.getMessage());
            assertEquals(List.of(), first.runs());
        }
        open().close();
    }

    @Test
    void aForeignFileIsRefused() throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "{\"a\":1}\n", StandardOpenOption.CREATE_NEW);

        BenchtopException e = assertThrows(BenchtopException.class, this::open);

        assertEquals(file + ":1: not a benchtop bench journal", e.getMessage());
    }

    @Test
    void anInterruptedThreadCanStillRecord() throws InterruptedException {
        try (Journal journal = open()) {
            journal.startSession(5, HOST);
            RunRecord run = run(1);
            Thread.currentThread().interrupt();
            journal.add(run);
            assertTrue(Thread.interrupted());
        }
        try (Journal journal = open()) {
            assertEquals(1, journal.runs().size());
        }
    }
}
