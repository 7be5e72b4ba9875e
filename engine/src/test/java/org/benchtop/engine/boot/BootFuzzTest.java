package org.benchtop.engine.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.benchtop.engine.config.BootSpec;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.testkit.FakeGuestMemory;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

/** Broken images end in one line of kind IMAGE, or load; nothing else, and not for ever. */
class BootFuzzTest {
    private static final int ROUNDS = 4000;
    private static final long SEED = 20261130;

    private final FakeGuestMemory memory = FakeGuestMemory.ofSize(32 << 20);

    private static byte[] mutate(byte[] image, Random random) {
        byte[] broken = image.clone();
        int changes = 1 + random.nextInt(4);
        for (int i = 0; i < changes; i++) {
            int at = random.nextInt(Math.min(broken.length, random.nextBoolean() ? 0x80 : 0x300));
            int width = 1 << random.nextInt(4);
            long value = switch (random.nextInt(5)) {
                case 0 -> 0;
                case 1 -> -1;
                case 2 -> random.nextLong();
                case 3 -> Long.MAX_VALUE;
                default -> random.nextInt(0x10000);
            };
            for (int b = 0; b < width && at + b < broken.length; b++) {
                broken[at + b] = (byte) (value >> 8 * b);
            }
        }
        return random.nextInt(4) == 0 ? Arrays.copyOf(broken, random.nextInt(broken.length + 1)) : broken;
    }

    private Optional<String> tryToBoot(byte[] image, Random random) {
        ImageBytes bytes = new ImageBytes("k", image);
        BootSpec.Protocol protocol = BootSpec.Protocol.values()[random.nextInt(BootSpec.Protocol.values().length)];
        Optional<Initrd> initrd = random.nextBoolean()
                ? Optional.empty()
                : Optional.of(new Initrd("i", new byte[random.nextInt(100_000)]));
        try {
            BootImage loaded = BzImage.isBzImage(bytes)
                    ? BzImage.parse(bytes, "a=b", initrd, protocol)
                    : KernelImage.parse(bytes, "a=b", initrd, protocol);
            loaded.apply(memory, BootFacts.NONE);
            return Optional.empty();
        } catch (BenchtopException e) {
            assertEquals(ErrorKind.IMAGE, e.kind());
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    @Test
    void mutatedImagesEndInOneLine() {
        List<byte[]> images = List.of(
                ImageBuilder.elf64(true),
                ImageBuilder.elf64(false),
                ImageBuilder.elf32(),
                ImageBuilder.bzImage(),
                ImageBuilder.multiboot());
        Random random = new Random(SEED);
        int refused = 0;
        for (int round = 0; round < ROUNDS; round++) {
            byte[] image = mutate(images.get(round % images.size()), random);
            Optional<String> message =
                    Assertions.assertTimeout(Duration.ofSeconds(20), () -> tryToBoot(image, random), "round " + round);
            if (message.isPresent()) {
                refused++;
                assertEquals(1, message.get().lines().count(), message.get());
            }
        }
        int refusals = refused;
        assertTrue(refusals > ROUNDS / 4 && refusals < ROUNDS, () -> refusals + " refused");
    }

    @Test
    void everyTruncationEndsInOneLine() {
        for (byte[] image : List.of(ImageBuilder.elf64(true), ImageBuilder.elf32(), ImageBuilder.bzImage())) {
            Random random = new Random(SEED);
            for (int length = 1; length < image.length; length += length < 0x300 ? 1 : 97) {
                byte[] cut = Arrays.copyOf(image, length);
                Optional<String> message = tryToBoot(cut, random);
                assertTrue(message.isPresent(), "a kernel cut to " + length + " bytes");
            }
        }
    }

    @Test
    void segmentsThatShareBytesCannotExhaustTheHeap() {
        byte[] elf = Arrays.copyOf(ImageBuilder.elf64(false), 64 + 56 * 60_000);
        java.nio.ByteBuffer buffer = java.nio.ByteBuffer.wrap(elf).order(java.nio.ByteOrder.LITTLE_ENDIAN);
        buffer.putShort(56, (short) 60_000);
        for (int i = 0; i < 60_000; i++) {
            int at = 64 + i * 56;
            buffer.putInt(at, 1).putLong(at + 8, 0).putLong(at + 24, ImageBuilder.LOAD);
            buffer.putLong(at + 32, elf.length).putLong(at + 40, elf.length);
        }

        assertEquals(
                Optional.of("k: its segments use the same bytes of the file again and again"),
                tryToBoot(elf, new Random(1)).map(message -> message));
    }
}
