package org.benchtop.engine.boot;

import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Errors about image files. */
final class ImageErrors {
    private ImageErrors() {}

    static BenchtopException error(String name, String reason) {
        return BenchtopException.of(ErrorKind.IMAGE, name + ": " + reason);
    }

    static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }
}
