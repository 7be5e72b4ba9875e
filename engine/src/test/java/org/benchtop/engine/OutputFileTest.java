package org.benchtop.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OutputFileTest {
    @TempDir
    Path folder = Path.of("");

    private List<String> names() throws IOException {
        try (var files = Files.list(folder)) {
            return files.map(file -> String.valueOf(file.getFileName()))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void replacesTheOldFileAndLeavesNothingElse() throws Exception {
        Path file = Files.writeString(folder.resolve("r.json"), "old");

        OutputFile.write(file, new byte[] {1, 2});

        assertArrayEquals(new byte[] {1, 2}, Files.readAllBytes(file));
        assertEquals(List.of("r.json"), names());
    }

    @Test
    void writesThroughASymbolicLink() throws Exception {
        Path target = Files.writeString(folder.resolve("target"), "old");
        Path link = Files.createSymbolicLink(folder.resolve("link"), target);

        OutputFile.write(link, new byte[] {7});

        assertTrue(Files.isSymbolicLink(link));
        assertArrayEquals(new byte[] {7}, Files.readAllBytes(target));
    }

    @Test
    void writesToADeviceDirectly() {
        OutputFile.check(Path.of("/dev/null"));

        assertEquals(Path.of("/dev/null"), OutputFile.write(Path.of("/dev/null"), new byte[] {1}));
        assertTrue(Files.exists(Path.of("/dev/null")));
    }

    @Test
    void failedWriteKeepsTheOldFile() throws Exception {
        // A folder where the neighbour would be makes the write fail as a full disk does.
        Path file = Files.writeString(folder.resolve("r.json"), "old");
        Files.createDirectories(
                folder.resolve("r.json." + ProcessHandle.current().pid() + ".part")
                        .resolve("x"));

        assertThrows(BenchtopException.class, () -> OutputFile.write(file, new byte[] {1}));

        assertEquals("old", Files.readString(file));
    }

    @Test
    void missingFolderIsNamedOnce() {
        Path file = folder.resolve("missing/r.json");

        BenchtopException written = assertThrows(BenchtopException.class, () -> OutputFile.write(file, new byte[0]));
        BenchtopException checked = assertThrows(BenchtopException.class, () -> OutputFile.check(file));

        assertEquals(file + ": cannot be written: no such folder", written.getMessage());
        assertEquals(written.getMessage(), checked.getMessage());
    }

    @Test
    void checkLeavesNothingBehind() throws Exception {
        OutputFile.check(folder.resolve("new.json"));

        assertEquals(List.of(), names());
        assertThrows(BenchtopException.class, () -> OutputFile.check(folder));
    }
}
