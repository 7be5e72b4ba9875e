package org.benchtop.pc.display;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.TextScreen;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VgaTextTest implements DeviceContract {
    private static final int CRTC = 0x3d4;
    private static final int GRAPHICS = 0x3ce;
    private static final int TEXT = 0xb8000;

    @TempDir
    Path folder = Path.of("");

    private final FakeDeviceContext context = new FakeDeviceContext();

    @Override
    public Subject subject() {
        FakeDeviceContext own = new FakeDeviceContext();
        own.machine().firmware(true);
        return Subject.of(VgaText.type().create(new VgaTextOptions(Optional.of(rom())), own), own);
    }

    private Path rom() {
        try {
            return Files.write(folder.resolve("vgabios.bin"), new byte[512]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private TextScreen screen() {
        Device device = VgaText.type().create(new VgaTextOptions(Optional.empty()), context);
        device.attach(context);
        device.reset();
        return context.services().find(TextScreen.class).orElseThrow();
    }

    private void set(int port, int index, int value) {
        context.pioWrite(port, 2, index | value << 8);
    }

    private void put(long at, String text, int attribute) {
        byte[] cells = new byte[2 * text.length()];
        for (int i = 0; i < text.length(); i++) {
            cells[2 * i] = (byte) text.charAt(i);
            cells[2 * i + 1] = (byte) attribute;
        }
        context.memory().poke(at, cells);
    }

    private static String line(TextScreen.Content content, int row) {
        short[] cells = content.cells();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < content.columns(); i++) {
            text.append((char) (cells[row * content.columns() + i] & 0xff));
        }
        return text.toString().stripTrailing();
    }

    @Test
    void withoutFirmwareTheScreenIsEmptyText() {
        TextScreen.Content content = screen().content();

        assertEquals(80, content.columns());
        assertEquals(25, content.rows());
        assertEquals(0, content.cursor());
        assertEquals("", line(content, 24));
    }

    @Test
    void textAndColoursAreThoseInMemory() {
        TextScreen screen = screen();
        put(TEXT + 2 * (80 + 3), "Hi", 0x1e);

        TextScreen.Content content = screen.content();

        assertEquals("   Hi", line(content, 1));
        assertEquals(0x1e48, content.cells()[83]);
    }

    @Test
    void startAddressScrolls() {
        TextScreen screen = screen();
        put(TEXT + 2 * 160, "third", 7);
        set(CRTC, 0x0c, 0);
        set(CRTC, 0x0d, 160);

        assertEquals("third", line(screen.content(), 0));
    }

    @Test
    void startAddressNearTheEndWrapsWithinTheWindow() {
        TextScreen screen = screen();
        put(TEXT, "wrapped", 7);
        int start = 0x4000 - 80;
        set(CRTC, 0x0c, start >> 8);
        set(CRTC, 0x0d, start & 0xff);

        assertEquals("wrapped", line(screen.content(), 1));
    }

    @Test
    void cursorFollowsItsRegistersAndCanBeHidden() {
        TextScreen screen = screen();
        set(CRTC, 0x0e, 0);
        set(CRTC, 0x0f, 85);
        assertEquals(85, screen.content().cursor());

        set(CRTC, 0x0a, 0x20);

        assertEquals(-1, screen.content().cursor());
    }

    @Test
    void graphicsModeShowsNoText() {
        TextScreen screen = screen();
        set(GRAPHICS, 6, 0x05);

        assertEquals(TextScreen.Content.NO_TEXT, screen.content());
    }

    @Test
    void smallerCharactersGiveMoreLines() {
        TextScreen screen = screen();
        set(CRTC, 0x09, 0x47);

        assertEquals(50, screen.content().rows());
    }

    @Test
    void protectedTimingRegistersKeepTheirValues() {
        screen();
        set(CRTC, 0x11, 0x8e);
        set(CRTC, 0x01, 0x27);
        context.pioWrite(CRTC, 1, 1);

        assertEquals(0x4f, context.pioRead(CRTC + 1, 1));
    }

    @Test
    void attributeControllerTakesAddressAndDataByTurns() {
        screen();
        long unused = context.pioRead(0x3da, 1);
        context.pioWrite(0x3c0, 1, 0x25);
        context.pioWrite(0x3c0, 1, 0x11);
        long again = context.pioRead(0x3da, 1);
        context.pioWrite(0x3c0, 1, 0x25);

        assertEquals(0x11, context.pioRead(0x3c1, 1));
        assertNotEquals(unused, again);
    }

    @Test
    void paletteIsReadAsItWasWritten() {
        screen();
        context.pioWrite(0x3c8, 1, 7);
        for (int value : new int[] {1, 2, 3}) {
            context.pioWrite(0x3c9, 1, value);
        }
        context.pioWrite(0x3c7, 1, 7);

        assertEquals(1, context.pioRead(0x3c9, 1));
        assertEquals(2, context.pioRead(0x3c9, 1));
        assertEquals(3, context.pioRead(0x3c9, 1));
    }

    @Test
    void missingRomIsNamed() {
        FakeDeviceContext firmware = new FakeDeviceContext();
        firmware.machine().firmware(true);
        Device device = VgaText.type().create(new VgaTextOptions(Optional.of(Path.of("/none.bin"))), firmware);

        BenchtopException e = assertThrows(BenchtopException.class, () -> device.attach(firmware));

        assertEquals(ErrorKind.HOST, e.kind());
        assertTrue(String.valueOf(e.getMessage()).contains("/none.bin"), e.getMessage());
    }
}
