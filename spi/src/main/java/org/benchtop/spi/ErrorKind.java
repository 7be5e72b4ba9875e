package org.benchtop.spi;

/** Says whose mistake an error is, which decides the exit code of the command line. */
public enum ErrorKind {
    /** A wrong YAML key, option or command line. */
    CONFIG(2),
    /** A malformed or unusable disk image, kernel or firmware file. */
    IMAGE(2),
    /** The host lacks something: a file, a permission, a capability. */
    HOST(3),
    /** A plugin that cannot be loaded or broke its contract. */
    PLUGIN(2),
    /** The guest did something that stops the machine. */
    GUEST(4),
    /** A well-formed request for something that Benchtop does not do. */
    UNSUPPORTED(3),
    /** A defect in Benchtop. */
    INTERNAL(1);

    private final int exitCode;

    ErrorKind(int exitCode) {
        this.exitCode = exitCode;
    }

    /** The exit code of the command line for errors of this kind. */
    public int exitCode() {
        return exitCode;
    }
}
