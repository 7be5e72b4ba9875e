package org.benchtop.block.filter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.testkit.BlockClient;
import org.benchtop.testkit.FakeCreateContext;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TraceBackendTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void everyRequestIsALine() throws IOException {
        Path file = folder.resolve("trace.txt");
        FakeCreateContext context = new FakeCreateContext("disk0");
        try (BlockBackend below = new HeldBlockBackend(1 << 20).automatic()) {
            BlockBackend trace = new TraceType().create(new TraceOptions("below", file), context.drive("below", below));
            try (trace;
                    BlockClient client = new BlockClient(trace, context.eventLoop())) {
                client.write(4096, new byte[512]);
                client.write(8192, new byte[512], true);
                client.read(0, 1024);
                client.flush();
                client.discard(0, 512);
                client.writeZeroes(512, 512, true);
                client.writeZeroes(1024, 512, false);
                client.tryRead(1 << 20, 512);
            }
        }

        List<String> lines = Files.readAllLines(file);

        assertEquals("# benchtop block trace 1 size=1048576 block=512", lines.getFirst());
        assertEquals(
                List.of(
                        "0 write 4096 512 OK",
                        "0 write-fua 8192 512 OK",
                        "0 read 0 1024 OK",
                        "0 flush 0 0 OK",
                        "0 discard 0 512 OK",
                        "0 write-zeroes-unmap 512 512 OK",
                        "0 write-zeroes 1024 512 OK",
                        "0 read 1048576 512 OUT_OF_RANGE"),
                lines.stream()
                        .skip(1)
                        .map(line -> line.replaceFirst("^\\d+ \\d+ ", ""))
                        .toList());
    }

    @Test
    void fileThatCannotBeWrittenIsRefused() {
        Path missing = folder.resolve("no/such/folder/trace.txt");
        FakeCreateContext context =
                new FakeCreateContext("disk0").drive("below", new HeldBlockBackend(1 << 20).automatic());

        BenchtopException error = assertThrows(
                BenchtopException.class, () -> new TraceType().create(new TraceOptions("below", missing), context));

        assertTrue(error.getMessage().contains("trace.txt"), error.getMessage());
    }
}
