package org.benchtop.engine.linux;

import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** The services of a Linux host. */
public final class LinuxHost {
    private LinuxHost() {}

    /** Whether this is a host that Benchtop's Linux layer works on: Linux on x86-64. */
    public static boolean available() {
        return LibC.supported();
    }

    static void requireAvailable() {
        if (!available()) {
            throw BenchtopException.of(
                    ErrorKind.UNSUPPORTED,
                    "this needs Linux on x86-64: os.name=" + System.getProperty("os.name") + " os.arch="
                            + System.getProperty("os.arch"));
        }
    }
}
