package org.benchtop.spi.memory;

/**
 * A guest-given address that is not RAM, or not wholly so.
 *
 * <p>Checked on purpose: a device must turn it into a status for its guest and never let it out. It carries no stack
 * trace, so a hostile guest cannot make it expensive.
 */
public final class GuestFault extends Exception {
    private static final long serialVersionUID = 1L;

    private final long gpa;
    private final long lengthBytes;

    public GuestFault(long gpa, long lengthBytes) {
        super(null, null, false, false);
        this.gpa = gpa;
        this.lengthBytes = lengthBytes;
    }

    /** The first guest physical address of the refused access. */
    public long gpa() {
        return gpa;
    }

    /** The length of the refused access. */
    public long lengthBytes() {
        return lengthBytes;
    }

    @Override
    public String getMessage() {
        return "not RAM: gpa=0x" + Long.toHexString(gpa) + " length=0x" + Long.toHexString(lengthBytes);
    }
}
