package org.benchtop.spi.device;

import java.util.Arrays;

/** A service: a display whose text people can read. Any thread. */
public interface TextScreen {
    /** What the display shows now; a running guest may change it meanwhile. */
    Content content();

    /**
     * What a display shows.
     *
     * @param columns characters of a line; 0 while the display shows graphics or nothing
     * @param rows lines
     * @param cells by line and column: the character (code page 437) in bits 0 to 7, the attribute in bits 8 to 15:
     *     foreground colour 0 to 15 in the low nibble, background colour 0 to 7 above it, blinking in bit 7
     * @param cursor the index of the cell with the cursor; -1 while there is none
     */
    record Content(int columns, int rows, short[] cells, int cursor) {
        /** Nothing that could be read. */
        public static final Content NO_TEXT = new Content(0, 0, new short[0], -1);

        public Content {
            if (columns < 0 || rows < 0 || cells.length != columns * rows) {
                throw new IllegalArgumentException(columns + " columns, " + rows + " rows, " + cells.length + " cells");
            }
            cells = cells.clone();
        }

        @Override
        public short[] cells() {
            return cells.clone();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Content that
                    && columns == that.columns
                    && rows == that.rows
                    && cursor == that.cursor
                    && Arrays.equals(cells, that.cells);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(cells) * 31 + cursor;
        }
    }
}
