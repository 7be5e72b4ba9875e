package org.benchtop.notebook.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KernelSpecTest {
    private static final JsonObject CONTENT =
            KernelSpec.content(Path.of("/opt/benchtop/benchtop"), "Benchtop", Map.of("A", "b"));

    @TempDir
    Path data = Path.of("");

    @Test
    void installedSpecStartsTheLauncher() throws IOException {
        KernelSpec spec = KernelSpec.in(data, "benchtop");

        spec.install(CONTENT);

        String text = Files.readString(data.resolve("kernels/benchtop/kernel.json"));
        assertTrue(text.contains("\"/opt/benchtop/benchtop\""), text);
        assertTrue(text.contains("\"{connection_file}\""), text);
        assertTrue(spec.says(CONTENT));
    }

    @Test
    void installReplacesAndLeavesNothingBehind() throws IOException {
        KernelSpec spec = KernelSpec.in(data, "benchtop");
        spec.install(KernelSpec.content(Path.of("/old/benchtop"), "Old", Map.of()));

        spec.install(CONTENT);

        assertTrue(spec.says(CONTENT));
        try (Stream<Path> files = Files.list(data.resolve("kernels"))) {
            assertEquals(1, files.count());
        }
    }

    @Test
    void uninstallRemovesOwnKernelsOnly() throws IOException {
        KernelSpec spec = KernelSpec.in(data, "benchtop");
        spec.install(CONTENT);
        Path foreign = Files.createDirectories(data.resolve("kernels/python3"));
        Files.writeString(foreign.resolve("kernel.json"), "{\"argv\": [\"python3\", \"-m\", \"ipykernel\"]}");

        assertTrue(spec.uninstall());
        assertFalse(spec.uninstall());
        BenchtopException e = assertThrows(
                BenchtopException.class, () -> KernelSpec.in(data, "python3").uninstall());

        assertTrue(e.getMessage().contains("is not a kernel of Benchtop"), e.getMessage());
        assertTrue(Files.exists(foreign.resolve("kernel.json")));
    }

    @Test
    void illegalNameIsRefused() {
        assertThrows(BenchtopException.class, () -> KernelSpec.in(data, "../evil"));
    }
}
