package org.benchtop.shell;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import org.benchtop.guests.DiskPattern;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop guest check-pattern}: reads an image on the host and compares it with what diskcheck writes. */
@Command(name = "check-pattern", description = "Check on the host that a raw image holds what diskcheck wrote.")
final class CheckPatternCommand implements Callable<Integer> {
    private static final int BUFFER_BYTES = 1 << 20;
    private static final int SECTOR_BYTES = 512;

    @Spec
    CommandSpec command;

    @Parameters(paramLabel = "IMAGE", description = "A raw image file.")
    Path image = Path.of("");

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "The guest's seed (default: 1).")
    long seed;

    @Override
    public Integer call() {
        try (FileChannel channel = FileChannel.open(image, StandardOpenOption.READ)) {
            long bytes = channel.size() / Long.BYTES * Long.BYTES;
            if (bytes == 0) {
                throw BenchtopException.of(ErrorKind.IMAGE, image + ": is empty, nothing to check");
            }
            check(channel, bytes);
            command.commandLine()
                    .getOut()
                    .println(image + ": " + bytes + " bytes, all as diskcheck writes them (seed " + seed + ")");
            return 0;
        } catch (NoSuchFileException e) {
            throw BenchtopException.of(ErrorKind.HOST, image + ": no such file", e);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, image + ": cannot be read: " + e.getMessage(), e);
        }
    }

    private void check(FileChannel channel, long bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long word = 0;
        while (word * Long.BYTES < bytes) {
            buffer.clear();
            while (buffer.hasRemaining() && channel.read(buffer, word * Long.BYTES + buffer.position()) > 0) {
                continue;
            }
            buffer.flip();
            while (buffer.remaining() >= Long.BYTES) {
                long found = buffer.getLong();
                long expected = DiskPattern.word(seed, word);
                if (found != expected) {
                    long offset = word * Long.BYTES;
                    throw BenchtopException.of(
                            ErrorKind.IMAGE,
                            String.format(
                                    "%s: offset 0x%x (sector %d) holds 0x%016x, diskcheck with seed %d writes 0x%016x",
                                    image, offset, offset / SECTOR_BYTES, found, seed, expected));
                }
                word++;
            }
        }
    }
}
