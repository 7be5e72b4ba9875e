package org.benchtop.engine.plugin;

/** The kinds of things that plugins bring along. */
public enum TypeKind {
    /** For {@code machine:}. */
    MACHINE("machine type"),
    /** For {@code accel:}. */
    CPU_ENGINE("CPU engine"),
    /** For {@code drives:}. */
    DRIVE("drive type"),
    /** For {@code benchtop image}. */
    IMAGE_FORMAT("image format"),
    /** For {@code chardevs:}. */
    CHARDEV("chardev type"),
    /** For {@code netdevs:}. */
    NETDEV("netdev type"),
    /** For {@code devices:}. */
    DEVICE("device type"),
    /** For {@code boot: {guest: …}}. */
    GUEST_PROGRAM("guest program"),
    /** For {@code boot: {NAME: {…}}}. */
    BOOT_SOURCE("boot source");

    private final String label;

    TypeKind(String label) {
        this.label = label;
    }

    /** What people call it. */
    public String label() {
        return label;
    }
}
