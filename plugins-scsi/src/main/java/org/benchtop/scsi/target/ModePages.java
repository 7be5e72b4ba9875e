package org.benchtop.scsi.target;

import java.util.Arrays;

/**
 * The mode pages of a logical unit (SPC-5, 7.5; SBC-4, 6.5): MODE SENSE builds its answer from them, MODE SELECT changes
 * what is changeable. Guarded by the logical unit's lock.
 */
final class ModePages {
    static final int ERROR_RECOVERY = 0x01;
    static final int RIGID_GEOMETRY = 0x04;
    static final int CACHING = 0x08;
    static final int CONTROL = 0x0a;
    static final int INFORMATIONAL_EXCEPTIONS = 0x1c;
    static final int ALL = 0x3f;

    /** Write cache enable, in byte 2 of the caching page. */
    static final int WCE = 0x04;

    /**
     * One page.
     *
     * @param defaults all of it, with code and length
     * @param changeable which bits MODE SELECT may change; same length
     * @param current the values now
     */
    record Page(byte[] defaults, byte[] changeable, byte[] current) {
        Page(byte[] defaults, byte[] changeable) {
            this(defaults, changeable, defaults.clone());
        }

        int code() {
            return defaults[0] & 0x3f;
        }
    }

    /** What MODE SELECT has found. */
    enum Verdict {
        /** Everything is changed as asked. */
        OK,
        /** Something is not changeable, or is malformed. */
        INVALID_FIELD,
        /** A page is cut off. */
        LENGTH_ERROR,
    }

    private final Page[] pages;

    /** Pages in ascending order of code. */
    ModePages(Page... pages) {
        this.pages = pages;
    }

    static Page fixed(byte[] page) {
        return new Page(page, new byte[page.length]);
    }

    /** Back to the defaults. */
    void reset() {
        for (Page page : pages) {
            System.arraycopy(page.defaults, 0, page.current, 0, page.current.length);
        }
    }

    boolean has(int code) {
        return code == ALL || Arrays.stream(pages).anyMatch(page -> page.code() == code);
    }

    byte[] current(int code) {
        for (Page page : pages) {
            if (page.code() == code) {
                return page.current;
            }
        }
        return new byte[0];
    }

    /**
     * Appends pages.
     *
     * @param control 0 for current values, 1 for changeable, 2 for default
     * @return the offset behind them
     */
    int append(byte[] to, int at, int code, int control) {
        int end = at;
        for (Page page : pages) {
            if (code != ALL && code != page.code()) {
                continue;
            }
            byte[] from = switch (control) {
                case 1 -> page.changeable;
                case 2 -> page.defaults;
                default -> page.current;
            };
            System.arraycopy(from, 0, to, end, from.length);
            to[end] = page.defaults[0];
            to[end + 1] = page.defaults[1];
            end += from.length;
        }
        return end;
    }

    /** Checks a list of pages, or applies it. */
    Verdict select(byte[] list, int from, boolean apply) {
        int at = from;
        while (at < list.length) {
            if (list.length - at < 2) {
                return Verdict.LENGTH_ERROR;
            }
            int code = list[at] & 0x3f;
            int length = 2 + (list[at + 1] & 0xff);
            if (length > list.length - at) {
                return Verdict.LENGTH_ERROR;
            }
            boolean known = false;
            for (Page page : pages) {
                if (page.code() == code && page.current.length == length && (list[at] & 0x40) == 0) {
                    known = true;
                    if (!fits(page, list, at, apply)) {
                        return Verdict.INVALID_FIELD;
                    }
                }
            }
            if (!known) {
                return Verdict.INVALID_FIELD;
            }
            at += length;
        }
        return Verdict.OK;
    }

    private static boolean fits(Page page, byte[] list, int at, boolean apply) {
        for (int i = 2; i < page.current.length; i++) {
            int differs = (list[at + i] ^ page.current[i]) & 0xff;
            if ((differs & ~page.changeable[i]) != 0) {
                return false;
            }
            if (apply) {
                page.current[i] = list[at + i];
            }
        }
        return true;
    }
}
