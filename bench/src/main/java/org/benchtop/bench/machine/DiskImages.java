package org.benchtop.bench.machine;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.benchtop.bench.run.CaseRunner;
import org.benchtop.engine.config.ConfigValue;
import org.benchtop.engine.config.EntrySpec;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.config.Units;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Makes and looks at the image files of a machine's drives. */
final class DiskImages {
    private static final int CHUNK_BYTES = 1 << 20;
    private static final String MARK = ".filled";
    private static final long TOOL_SECONDS = 60;

    private DiskImages() {}

    /**
     * An image that the machine may create.
     *
     * @param file absolute
     * @param sizeBytes of the image; 0 if the machine does not say
     * @param create whether the machine would create it
     */
    record Image(Path file, long sizeBytes, boolean create) {}

    /** The images of all drives that are plain files. */
    static List<Image> of(MachineSpec machine) {
        List<Image> images = new ArrayList<>();
        for (EntrySpec drive : machine.drives().values()) {
            text(drive, "file")
                    .filter(file -> drive.type().equals("file"))
                    .ifPresent(file -> images.add(new Image(
                            machine.baseDir().resolve(file).normalize(),
                            text(drive, "size")
                                    .map(size -> Units.parseSize(size).orElse(0))
                                    .orElse(0L),
                            text(drive, "create").filter(DiskImages::isOn).isPresent())));
        }
        return images;
    }

    private static boolean isOn(String text) {
        return text.equals("true") || text.equals("on") || text.equals("yes");
    }

    private static Optional<String> text(EntrySpec drive, String option) {
        return drive.options()
                .find(option)
                .flatMap(value ->
                        value instanceof ConfigValue.Scalar scalar ? Optional.of(scalar.text()) : Optional.empty());
    }

    /**
     * Writes an image full of random bytes and puts them on the disk, unless that was done before. Images that the
     * machine would not create are left alone.
     */
    static void fill(Image image, CaseRunner.Progress progress) throws InterruptedException {
        if (!image.create() || image.sizeBytes() == 0) {
            return;
        }
        Path mark = image.file().resolveSibling(image.file().getFileName() + MARK);
        String done = Long.toString(image.sizeBytes());
        try {
            if (Files.exists(image.file())
                    && Files.size(image.file()) == image.sizeBytes()
                    && Files.exists(mark)
                    && Files.readString(mark).strip().equals(done)) {
                return;
            }
            Files.createDirectories(image.file().toAbsolutePath().getParent());
            Files.deleteIfExists(mark);
            write(image, progress);
            Files.writeString(mark, done + "\n", StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw BenchtopException.of(ErrorKind.HOST, image.file() + ": cannot be filled: " + e.getMessage(), e);
        }
    }

    private static void write(Image image, CaseRunner.Progress progress) throws IOException, InterruptedException {
        SplittableRandom random = new SplittableRandom(image.sizeBytes());
        byte[] chunk = new byte[CHUNK_BYTES];
        // A RandomAccessFile: an interrupt must end this between chunks, not close the file in the middle of one.
        try (RandomAccessFile file = new RandomAccessFile(image.file().toFile(), "rw")) {
            file.setLength(image.sizeBytes());
            for (long at = 0; at < image.sizeBytes(); at += CHUNK_BYTES) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                if (at % (64L * CHUNK_BYTES) == 0) {
                    progress.doing(String.format(
                            Locale.ROOT,
                            "filling %s: %d %%",
                            image.file().getFileName(),
                            at * 100 / image.sizeBytes()));
                }
                random.nextBytes(chunk);
                file.write(chunk, 0, (int) Math.min(CHUNK_BYTES, image.sizeBytes() - at));
            }
            file.getFD().sync();
        }
    }

    /**
     * Makes the host forget its cached copy of an image, with the help of {@code dd} (coreutils), which asks for it by
     * posix_fadvise.
     */
    static void dropPageCache(Path image) throws InterruptedException {
        if (!Files.exists(image)) {
            return;
        }
        // conv=fdatasync first: dirty pages stay cached.
        List<String> command =
                List.of("dd", "of=" + image, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none");
        if (tool(command).isEmpty()) {
            throw BenchtopException.host(
                    "images.drop-page-cache needs dd of coreutils 8.11 or newer, which did not do it");
        }
    }

    /** The share of an image that the host has cached, from 0 to 1; empty where {@code fincore} is missing. */
    static Optional<Double> cachedShare(Path image) throws InterruptedException {
        Optional<String> answer = tool(List.of("fincore", "-b", "-n", "-r", "-o", "RES,SIZE", image.toString()));
        return answer.flatMap(text -> {
            String[] words = text.strip().split("\\s+");
            try {
                double size = Double.parseDouble(words[words.length - 1]);
                return size == 0 ? Optional.empty() : Optional.of(Double.parseDouble(words[0]) / size);
            } catch (NumberFormatException e) {
                return Optional.empty();
            }
        });
    }

    private static Optional<String> tool(List<String> command) throws InterruptedException {
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            return Optional.empty();
        }
        try {
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return process.waitFor(TOOL_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0
                    ? Optional.of(output)
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        } finally {
            process.destroyForcibly();
        }
    }
}
