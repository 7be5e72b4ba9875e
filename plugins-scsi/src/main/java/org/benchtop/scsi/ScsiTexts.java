package org.benchtop.scsi;

/** Checks the texts by which logical units are known. */
final class ScsiTexts {
    static final int SERIAL = 36;
    static final int VENDOR = 8;
    static final int PRODUCT = 16;
    static final int VERSION = 4;

    private ScsiTexts() {}

    static void check(String option, String text, int most) {
        boolean printable = text.chars().allMatch(c -> c >= ' ' && c <= '~');
        if (text.length() > most || !printable) {
            throw new IllegalArgumentException(
                    option + " must be at most " + most + " printable ASCII characters: \"" + text + "\"");
        }
    }
}
