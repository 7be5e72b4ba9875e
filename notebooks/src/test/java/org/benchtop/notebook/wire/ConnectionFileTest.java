package org.benchtop.notebook.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.benchtop.spi.BenchtopException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConnectionFileTest {
    private static final String GOOD = """
            {"transport": "tcp", "ip": "127.0.0.1", "shell_port": 1, "control_port": 2, "iopub_port": 3, "stdin_port": 4,
             "hb_port": 5, "signature_scheme": "hmac-sha256", "key": "k", "kernel_name": "benchtop"}""";

    @TempDir
    Path folder = Path.of("");

    private Path file(String text) throws IOException {
        return Files.writeString(folder.resolve("kernel.json"), text);
    }

    @Test
    void allMembersAreRead() throws IOException {
        ConnectionFile file = ConnectionFile.read(file(GOOD));

        assertEquals(new ConnectionFile("tcp", "127.0.0.1", 1, 2, 3, 4, 5, "hmac-sha256", "k"), file);
    }

    @Test
    void mistakesAreNamedInOneLine() throws IOException {
        String[][] mistakes = {
            {"", "no JSON object"},
            {"[1]", "no JSON object"},
            {GOOD.replace("\"hb_port\": 5", "\"x\": 5"), "hb_port is missing"},
            {GOOD.replace("\"shell_port\": 1", "\"shell_port\": 70000"), "shell_port is missing or not a port"},
            {GOOD.replace("tcp", "carrier pigeon"), "not one of tcp, ipc"},
        };
        for (String[] mistake : mistakes) {
            Path file = file(mistake[0]);
            BenchtopException e = assertThrows(BenchtopException.class, () -> ConnectionFile.read(file));
            assertTrue(e.getMessage().contains(mistake[1]), e.getMessage());
            assertTrue(e.getMessage().startsWith(file.toString()), e.getMessage());
            assertEquals(1, e.getMessage().lines().count());
        }
    }

    @Test
    void missingFileIsNamed() {
        Path missing = folder.resolve("nowhere.json");

        BenchtopException e = assertThrows(BenchtopException.class, () -> ConnectionFile.read(missing));

        assertTrue(e.getMessage().contains("no such connection file"), e.getMessage());
    }
}
