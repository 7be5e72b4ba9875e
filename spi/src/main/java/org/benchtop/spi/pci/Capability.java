package org.benchtop.spi.pci;

/**
 * A capability in configuration space (PCI Local Bus 3.0, 6.7).
 *
 * @param id the capability ID
 * @param body everything behind the next pointer
 * @param writableMask which bits of the body the guest may change; same length as the body
 */
public record Capability(int id, byte[] body, byte[] writableMask) {
    public Capability {
        if (body.length != writableMask.length || body.length > 190) {
            throw new IllegalArgumentException("capability body and mask must have the same length, at most 190 bytes");
        }
    }

    /** A read-only capability. */
    public static Capability readOnly(int id, byte[] body) {
        return new Capability(id, body, new byte[body.length]);
    }
}
