package org.benchtop.notebook.render;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Random;
import javax.imageio.ImageIO;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PngEncoderTest {
    /** One colour, exactly as many as a palette holds, one more, and no two alike. */
    @ParameterizedTest
    @CsvSource({"1, 1, 1", "7, 3, 1", "64, 32, 2", "40, 30, 256", "40, 30, 257", "100, 90, 16777216"})
    void javaReadsWhatWasWritten(int width, int height, int colours) throws IOException {
        Random random = new Random(colours);
        int[] pixels = new int[width * height];
        for (int i = 0; i < pixels.length; i++) {
            int number = i < colours ? i : random.nextInt(colours);
            pixels[i] = (number * 0x10937) & 0xffffff;
        }

        byte[] file = PngEncoder.encode(pixels, width, height);

        BufferedImage image = ImageIO.read(new ByteArrayInputStream(file));
        assertEquals(width, image.getWidth());
        int[] read = image.getRGB(0, 0, width, height, null, 0, width);
        for (int i = 0; i < read.length; i++) {
            read[i] &= 0xffffff;
        }
        assertArrayEquals(pixels, read);
    }
}
