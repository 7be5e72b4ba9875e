package org.benchtop.virtio.pci;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.benchtop.spi.pci.Capability;

/** The vendor-specific capabilities that say where the structures are (VIRTIO 1.2, 4.1.4). */
final class VirtioPciCapabilities {
    static final int PCI_CAP_ID_VNDR = 0x09;
    static final int VIRTIO_PCI_CAP_COMMON_CFG = 1;
    static final int VIRTIO_PCI_CAP_NOTIFY_CFG = 2;
    static final int VIRTIO_PCI_CAP_ISR_CFG = 3;
    static final int VIRTIO_PCI_CAP_DEVICE_CFG = 4;
    static final int VIRTIO_PCI_CAP_PCI_CFG = 5;

    /** Offsets in {@code struct virtio_pci_cfg_cap}. */
    static final int CAP_BAR = 4;

    static final int CAP_OFFSET = 8;
    static final int CAP_LENGTH = 12;
    static final int CAP_DATA = 16;
    static final int CAP_DATA_SIZE = 4;

    /** The ID and next fields, which the engine supplies. */
    private static final int GENERIC_SIZE = 2;

    private static final int CAP_SIZE = 16;
    private static final int CAP_WITH_WORD_SIZE = 20;

    private VirtioPciCapabilities() {}

    /** A capability without extra data. */
    static Capability structure(int type, int bar, int offset, int length) {
        return Capability.readOnly(PCI_CAP_ID_VNDR, body(CAP_SIZE, type, bar, offset, length));
    }

    /** The notification capability. */
    static Capability notify(int bar, int offset, int length, int multiplier) {
        byte[] body = body(CAP_WITH_WORD_SIZE, VIRTIO_PCI_CAP_NOTIFY_CFG, bar, offset, length);
        buffer(body).putInt(CAP_SIZE - GENERIC_SIZE, multiplier);
        return Capability.readOnly(PCI_CAP_ID_VNDR, body);
    }

    /** The window into the BARs. */
    static Capability window() {
        byte[] mask = new byte[CAP_WITH_WORD_SIZE - GENERIC_SIZE];
        mask[CAP_BAR - GENERIC_SIZE] = (byte) 0xff;
        Arrays.fill(mask, CAP_OFFSET - GENERIC_SIZE, mask.length, (byte) 0xff);
        return new Capability(PCI_CAP_ID_VNDR, body(CAP_WITH_WORD_SIZE, VIRTIO_PCI_CAP_PCI_CFG, 0, 0, 0), mask);
    }

    private static byte[] body(int size, int type, int bar, int offset, int length) {
        byte[] body = new byte[size - GENERIC_SIZE];
        buffer(body)
                .put(0, (byte) size)
                .put(1, (byte) type)
                .put(CAP_BAR - GENERIC_SIZE, (byte) bar)
                .putInt(CAP_OFFSET - GENERIC_SIZE, offset)
                .putInt(CAP_LENGTH - GENERIC_SIZE, length);
        return body;
    }

    private static ByteBuffer buffer(byte[] body) {
        return ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN);
    }
}
