package org.benchtop.pc.display;

import java.util.Arrays;
import org.benchtop.spi.device.RegisterMap;

/** The registers of a VGA, as far as text modes need them. It knows no bus and is not thread-safe. */
final class VgaCore implements RegisterMap.Handler<VgaRegister> {
    private static final int SEQUENCER = 8;
    private static final int GRAPHICS = 16;
    private static final int ATTRIBUTES = 32;
    private static final int CRTC = 32;
    private static final int DAC = 3 * 256;

    private static final int MISC_COLOUR_PORTS = 0x01;
    private static final int STATUS_1_RETRACE = 0x09;
    private static final int GRAPHICS_MODE = 0x01;

    private static final int CRTC_DISPLAY_END = 0x01;
    private static final int CRTC_OVERFLOW = 0x07;
    private static final int CRTC_MAX_SCAN = 0x09;
    private static final int CRTC_CURSOR_START = 0x0a;
    private static final int CRTC_CURSOR_OFF = 0x20;
    private static final int CRTC_START_HIGH = 0x0c;
    private static final int CRTC_CURSOR_HIGH = 0x0e;
    private static final int CRTC_SYNC_END = 0x11;
    private static final int CRTC_PROTECT = 0x80;
    private static final int CRTC_VERTICAL_END = 0x12;
    private static final int CRTC_OFFSET = 0x13;
    /** The one bit of a protected register that can be written: line compare, bit 8. */
    private static final int OVERFLOW_WRITABLE = 0x10;

    private static final int MIN_COLUMNS = 20;
    private static final int MAX_COLUMNS = 200;
    private static final int MIN_ROWS = 10;
    private static final int MAX_ROWS = 100;

    private static final int WINDOW_LOW = 0xa0000;
    private static final int WINDOW_MONO = 0xb0000;
    private static final int WINDOW_COLOUR = 0xb8000;
    private static final int HALF_BYTES = 0x8000;

    /** The registers of the BIOS's mode 3: 80 × 25 characters of 9 × 16 dots. */
    private static final int[] MODE_3_CRTC = {
        0x5f, 0x4f, 0x50, 0x82, 0x55, 0x81, 0xbf, 0x1f, 0x00, 0x4f, 0x0d, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x9c, 0x8e,
        0x8f, 0x28, 0x1f, 0x96, 0xb9, 0xa3, 0xff
    };

    private static final int[] MODE_3_SEQUENCER = {0x03, 0x00, 0x03, 0x00, 0x02};
    private static final int[] MODE_3_GRAPHICS = {0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x0e, 0x0f, 0xff};
    private static final int[] MODE_3_ATTRIBUTES = {
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x14, 0x07, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x0c, 0x00,
        0x0f, 0x08, 0x00
    };
    private static final int MODE_3_MISC = 0x67;

    private final byte[] sequencer = new byte[SEQUENCER];
    private final byte[] graphics = new byte[GRAPHICS];
    private final byte[] attributes = new byte[ATTRIBUTES];
    private final byte[] crtc = new byte[CRTC];
    private final byte[] dac = new byte[DAC];
    private int sequencerIndex;
    private int graphicsIndex;
    private int attributeIndex;
    private int crtcIndex;
    private int dacRead;
    private int dacWrite;
    private int dacMask = 0xff;
    private int misc;
    private int feature;
    private int status1;
    private boolean attributeData;
    private boolean dacReading;

    /** Where the text is, and its shape. */
    record Layout(int window, int windowBytes, int startBytes, int pitchBytes, int columns, int rows, int cursor) {}

    void reset() {
        for (byte[] bank : new byte[][] {sequencer, graphics, attributes, crtc, dac}) {
            Arrays.fill(bank, (byte) 0);
        }
        sequencerIndex = 0;
        graphicsIndex = 0;
        attributeIndex = 0;
        crtcIndex = 0;
        dacRead = 0;
        dacWrite = 0;
        dacMask = 0xff;
        misc = 0;
        feature = 0;
        status1 = 0;
        attributeData = false;
        dacReading = false;
    }

    /** The state in which a VGA BIOS leaves the display. */
    void textMode() {
        reset();
        set(crtc, MODE_3_CRTC);
        set(sequencer, MODE_3_SEQUENCER);
        set(graphics, MODE_3_GRAPHICS);
        set(attributes, MODE_3_ATTRIBUTES);
        misc = MODE_3_MISC;
        attributeIndex = 0x20;
    }

    private static void set(byte[] bank, int[] values) {
        for (int i = 0; i < values.length; i++) {
            bank[i] = (byte) values[i];
        }
    }

    @Override
    public long read(VgaRegister register) {
        if (register == VgaRegister.STATUS_1 || register == VgaRegister.STATUS_1_MONO) {
            attributeData = false;
            // Whoever waits for an edge of the retrace finds one.
            status1 ^= STATUS_1_RETRACE;
            return status1;
        }
        if (register == VgaRegister.DAC_DATA) {
            int value = dac[dacRead] & 0xff;
            dacRead = (dacRead + 1) % DAC;
            return value;
        }
        return peek(register);
    }

    @Override
    public long peek(VgaRegister register) {
        return switch (register) {
            case CRTC_INDEX, CRTC_INDEX_MONO -> crtcIndex;
            case CRTC_DATA, CRTC_DATA_MONO -> crtc[crtcIndex % CRTC] & 0xff;
            case STATUS_1, STATUS_1_MONO -> status1;
            case ATTRIBUTE -> attributeIndex;
            case ATTRIBUTE_DATA -> attributes[attributeIndex % ATTRIBUTES] & 0xff;
            case MISC_WRITE -> 0;
            case SEQUENCER_INDEX -> sequencerIndex;
            case SEQUENCER_DATA -> sequencer[sequencerIndex % SEQUENCER] & 0xff;
            case DAC_MASK -> dacMask;
            case DAC_READ_INDEX -> dacReading ? 3 : 0;
            case DAC_WRITE_INDEX -> dacWrite / 3;
            case DAC_DATA -> dac[dacRead] & 0xff;
            case FEATURE -> feature;
            case MISC_READ -> misc;
            case GRAPHICS_INDEX -> graphicsIndex;
            case GRAPHICS_DATA -> graphics[graphicsIndex % GRAPHICS] & 0xff;
        };
    }

    @Override
    public void write(VgaRegister register, long value) {
        int v = (int) value & 0xff;
        switch (register) {
            case CRTC_INDEX, CRTC_INDEX_MONO -> crtcIndex = v;
            case CRTC_DATA, CRTC_DATA_MONO -> writeCrtc(v);
            case STATUS_1, STATUS_1_MONO -> feature = v;
            case ATTRIBUTE -> {
                if (attributeData) {
                    attributes[attributeIndex % ATTRIBUTES] = (byte) v;
                } else {
                    attributeIndex = v & 0x3f;
                }
                attributeData = !attributeData;
            }
            case MISC_WRITE -> misc = v;
            case SEQUENCER_INDEX -> sequencerIndex = v;
            case SEQUENCER_DATA -> sequencer[sequencerIndex % SEQUENCER] = (byte) v;
            case DAC_MASK -> dacMask = v;
            case DAC_READ_INDEX -> {
                dacRead = 3 * v;
                dacReading = true;
            }
            case DAC_WRITE_INDEX -> {
                dacWrite = 3 * v;
                dacReading = false;
            }
            case DAC_DATA -> {
                dac[dacWrite] = (byte) (v & 0x3f);
                dacWrite = (dacWrite + 1) % DAC;
            }
            case GRAPHICS_INDEX -> graphicsIndex = v;
            case GRAPHICS_DATA -> graphics[graphicsIndex % GRAPHICS] = (byte) v;
            case ATTRIBUTE_DATA, FEATURE, MISC_READ -> {}
        }
    }

    private void writeCrtc(int value) {
        int at = crtcIndex;
        if (at >= CRTC) {
            return;
        }
        boolean locked = at <= CRTC_OVERFLOW && (crtc[CRTC_SYNC_END] & CRTC_PROTECT) != 0;
        if (!locked) {
            crtc[at] = (byte) value;
        } else if (at == CRTC_OVERFLOW) {
            crtc[at] = (byte) (crtc[at] & ~OVERFLOW_WRITABLE | value & OVERFLOW_WRITABLE);
        }
    }

    /** Whether the CRT controller is at 0x3D4 rather than 0x3B4. */
    boolean colourPorts() {
        return (misc & MISC_COLOUR_PORTS) != 0;
    }

    private int crtc(int at) {
        return crtc[at] & 0xff;
    }

    /** What is shown; no columns while that is graphics, or nothing yet. */
    Layout layout() {
        int columns = crtc(CRTC_DISPLAY_END) + 1;
        int overflow = crtc(CRTC_OVERFLOW);
        int lines = 1 + (crtc(CRTC_VERTICAL_END) | (overflow & 0x02) << 7 | (overflow & 0x40) << 3);
        int height = 1 + (crtc(CRTC_MAX_SCAN) & 0x1f);
        int rows = lines / height;
        boolean text = (graphics[6] & GRAPHICS_MODE) == 0
                && columns >= MIN_COLUMNS
                && columns <= MAX_COLUMNS
                && rows >= MIN_ROWS
                && rows <= MAX_ROWS;
        if (!text) {
            return new Layout(WINDOW_COLOUR, HALF_BYTES, 0, 0, 0, 0, -1);
        }
        int window = switch (graphics[6] >> 2 & 3) {
            case 2 -> WINDOW_MONO;
            case 3 -> WINDOW_COLOUR;
            default -> WINDOW_LOW;
        };
        int start = crtc(CRTC_START_HIGH) << 8 | crtc(CRTC_START_HIGH + 1);
        int pitch = 4 * crtc(CRTC_OFFSET);
        int cursor = -1;
        if ((crtc(CRTC_CURSOR_START) & CRTC_CURSOR_OFF) == 0 && pitch != 0) {
            int at = (crtc(CRTC_CURSOR_HIGH) << 8 | crtc(CRTC_CURSOR_HIGH + 1)) - start;
            int column = Math.floorMod(2 * at, pitch) / 2;
            int row = Math.floorDiv(2 * at, pitch);
            cursor = at >= 0 && row < rows && column < columns ? row * columns + column : -1;
        }
        return new Layout(
                window,
                window == WINDOW_LOW ? 2 * HALF_BYTES : HALF_BYTES,
                2 * start,
                pitch == 0 ? 2 * columns : pitch,
                columns,
                rows,
                cursor);
    }

    /** Everything that survives a save. */
    record State(
            byte[] sequencer,
            byte[] graphics,
            byte[] attributes,
            byte[] crtc,
            byte[] dac,
            int sequencerIndex,
            int graphicsIndex,
            int attributeIndex,
            int crtcIndex,
            int dacRead,
            int dacWrite,
            int dacMask,
            int misc,
            int feature,
            int status1,
            boolean attributeData,
            boolean dacReading) {}

    State save() {
        return new State(
                sequencer.clone(),
                graphics.clone(),
                attributes.clone(),
                crtc.clone(),
                dac.clone(),
                sequencerIndex,
                graphicsIndex,
                attributeIndex,
                crtcIndex,
                dacRead,
                dacWrite,
                dacMask,
                misc,
                feature,
                status1,
                attributeData,
                dacReading);
    }

    void restore(State s) {
        copy(s.sequencer, sequencer);
        copy(s.graphics, graphics);
        copy(s.attributes, attributes);
        copy(s.crtc, crtc);
        copy(s.dac, dac);
        sequencerIndex = s.sequencerIndex & 0xff;
        graphicsIndex = s.graphicsIndex & 0xff;
        attributeIndex = s.attributeIndex & 0x3f;
        crtcIndex = s.crtcIndex & 0xff;
        dacRead = Math.floorMod(s.dacRead, DAC);
        dacWrite = Math.floorMod(s.dacWrite, DAC);
        dacMask = s.dacMask & 0xff;
        misc = s.misc & 0xff;
        feature = s.feature & 0xff;
        status1 = s.status1 & STATUS_1_RETRACE;
        attributeData = s.attributeData;
        dacReading = s.dacReading;
    }

    private static void copy(byte[] from, byte[] to) {
        System.arraycopy(from, 0, to, 0, Math.min(from.length, to.length));
    }
}
