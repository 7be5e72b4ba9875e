package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.device.TextScreen;

/**
 * What a machine's display showed at one moment.
 *
 * @param machine the machine's name
 * @param content characters and colours
 */
public record Screen(String machine, TextScreen.Content content) {
    /** Code page 437 (the lower half has pictures where ASCII has control characters). */
    private static final String CHARACTERS = " ☺☻♥♦♣♠•◘○◙♂♀♪♫☼►◄↕‼¶§▬↨↑↓→←∟↔▲▼"
            + " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~⌂"
            + "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
            + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";

    /** Red, green and blue of the 16 colours of text modes. */
    private static final int[] COLOURS = {
        0x000000, 0x0000aa, 0x00aa00, 0x00aaaa, 0xaa0000, 0xaa00aa, 0xaa5500, 0xaaaaaa, 0x555555, 0x5555ff, 0x55ff55,
        0x55ffff, 0xff5555, 0xff55ff, 0xffff55, 0xffffff
    };

    /**
     * A piece of a line in one colour.
     *
     * @param foreground 0xRRGGBB
     * @param background 0xRRGGBB
     */
    public record Span(String text, int foreground, int background) {}

    /** Characters of a line; 0 while the display shows no text. */
    public int columns() {
        return content.columns();
    }

    /** Lines. */
    public int rows() {
        return content.rows();
    }

    /** The lines, without blanks at their ends. */
    public List<String> lines() {
        short[] cells = content.cells();
        List<String> lines = new ArrayList<>();
        for (int row = 0; row < rows(); row++) {
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < columns(); column++) {
                line.append(character(cells[row * columns() + column]));
            }
            lines.add(line.toString().stripTrailing());
        }
        return List.copyOf(lines);
    }

    /** The text, without empty lines at its end. */
    public String text() {
        return String.join("\n", lines()).stripTrailing();
    }

    /** Each line in pieces of one colour. */
    public List<List<Span>> spans() {
        short[] cells = content.cells();
        List<List<Span>> all = new ArrayList<>();
        for (int row = 0; row < rows(); row++) {
            List<Span> line = new ArrayList<>();
            StringBuilder text = new StringBuilder();
            for (int column = 0; column < columns(); column++) {
                int at = row * columns() + column;
                text.append(character(cells[at]));
                if (column + 1 == columns() || cells[at] >> 8 != cells[at + 1] >> 8) {
                    line.add(new Span(text.toString(), COLOURS[cells[at] >> 8 & 0xf], COLOURS[cells[at] >> 12 & 0x7]));
                    text.setLength(0);
                }
            }
            all.add(List.copyOf(line));
        }
        return List.copyOf(all);
    }

    private static char character(short cell) {
        return CHARACTERS.charAt(cell & 0xff);
    }

    @Override
    public String toString() {
        return columns() == 0 ? machine + ": the display shows no text" : text();
    }
}
