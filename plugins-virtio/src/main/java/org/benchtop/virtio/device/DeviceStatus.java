package org.benchtop.virtio.device;

/** The device status field (VIRTIO 1.2, 2.1) and the order in which a driver may set its bits (3.1.1). */
public final class DeviceStatus {
    /** The driver has found the device. */
    public static final int ACKNOWLEDGE = 1;
    /** The driver knows how to drive it. */
    public static final int DRIVER = 2;
    /** The driver is ready. */
    public static final int DRIVER_OK = 4;
    /** Features are negotiated. */
    public static final int FEATURES_OK = 8;
    /** Set by the device: it has met an error that only a reset ends. */
    public static final int DEVICE_NEEDS_RESET = 64;
    /** The driver has given up. */
    public static final int FAILED = 128;

    private DeviceStatus() {}

    /** The driver's steps, in the order in which they are taken when one write asks for several. */
    enum Step {
        ACKNOWLEDGE(DeviceStatus.ACKNOWLEDGE, 0),
        DRIVER(DeviceStatus.DRIVER, DeviceStatus.ACKNOWLEDGE),
        FEATURES_OK(DeviceStatus.FEATURES_OK, DeviceStatus.ACKNOWLEDGE | DeviceStatus.DRIVER),
        DRIVER_OK(DeviceStatus.DRIVER_OK, DeviceStatus.ACKNOWLEDGE | DeviceStatus.DRIVER | DeviceStatus.FEATURES_OK),
        FAILED(DeviceStatus.FAILED, 0);

        private final int bit;
        private final int requires;

        Step(int bit, int requires) {
            this.bit = bit;
            this.requires = requires;
        }
    }

    private static final Step[] STEPS = Step.values();

    /** Decides on features. */
    @FunctionalInterface
    interface FeatureCheck {
        /** Whether the features that the driver has chosen are acceptable. */
        boolean accepted();
    }

    /**
     * The status after a driver's write of anything but 0. A step whose requirements are not met is not taken, a bit is
     * never cleared, and nothing but a reset helps a device that needs one: the driver reads back what became of its
     * write.
     */
    static int afterWrite(int status, int written, FeatureCheck features) {
        boolean clears = (status & ~written & ~DEVICE_NEEDS_RESET) != 0;
        if (clears || (status & DEVICE_NEEDS_RESET) != 0) {
            return status | written & FAILED;
        }
        int result = status;
        for (Step step : STEPS) {
            boolean asked = (written & ~result & step.bit) != 0;
            if (asked && (result & step.requires) == step.requires) {
                boolean refused = step == Step.FEATURES_OK && !features.accepted();
                result |= refused ? 0 : step.bit;
            }
        }
        return result;
    }
}
