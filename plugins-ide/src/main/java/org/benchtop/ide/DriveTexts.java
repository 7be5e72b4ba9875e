package org.benchtop.ide;

/** Checks the texts by which drives are known. */
final class DriveTexts {
    static final int SERIAL = 20;
    static final int MODEL = 40;
    static final int VERSION = 8;

    private DriveTexts() {}

    static void check(String option, String text, int most) {
        boolean printable = text.chars().allMatch(c -> c >= ' ' && c <= '~');
        if (text.length() > most || !printable) {
            throw new IllegalArgumentException(
                    option + " must be at most " + most + " printable ASCII characters: \"" + text + "\"");
        }
    }
}
