package org.benchtop.engine.kvm;

import java.nio.file.Path;
import org.benchtop.spi.Option;

/**
 * Options of {@code accel: {type: kvm}}.
 *
 * @param device the KVM device
 * @param msi how message-signalled interrupts reach the guest
 */
public record KvmOptions(
        @Option(doc = "The KVM device.", value = "/dev/kvm") Path device,

        @Option(doc = "How message-signalled interrupts reach the guest; auto takes the faster one.", value = "auto")
        MsiDelivery msi) {
    /** What applies when nothing is given. */
    public static final KvmOptions DEFAULTS = new KvmOptions(Path.of("/dev/kvm"), MsiDelivery.AUTO);

    /** How message-signalled interrupts reach the guest. */
    public enum MsiDelivery {
        /** {@link #SIGNAL} where KVM has it, else {@link #IRQFD}. */
        AUTO,
        /** An eventfd per message, with a route in the kernel. */
        IRQFD,
        /** One ioctl per message. */
        SIGNAL,
    }
}
