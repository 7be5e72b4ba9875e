package org.benchtop.pc.chardev;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** Turns I/O errors into one clear line. */
final class HostErrors {
    private HostErrors() {}

    static BenchtopException of(String what, IOException e) {
        return BenchtopException.of(ErrorKind.HOST, what + ": " + reason(e), e);
    }

    /** The reason without the path, which Java puts alone into some messages. */
    static String reason(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "no such file or directory";
        }
        if (e instanceof AccessDeniedException) {
            return "permission denied";
        }
        String message = e.getMessage();
        return message == null || message.isBlank() ? e.getClass().getSimpleName() : message.replace('\n', ' ');
    }
}
