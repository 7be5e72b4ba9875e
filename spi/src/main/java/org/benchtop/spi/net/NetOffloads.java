package org.benchtop.spi.net;

/**
 * What a backend takes off the guest; all need frames with a virtio-net header of {@code headerBytes}.
 *
 * @param headerBytes length of the virtio-net header in front of frames, 0 for none
 * @param checksum partial checksums
 * @param tso4 TCP segmentation over IPv4
 * @param tso6 TCP segmentation over IPv6
 * @param ufo UDP fragmentation
 */
public record NetOffloads(int headerBytes, boolean checksum, boolean tso4, boolean tso6, boolean ufo) {
    /** Plain frames. */
    public static final NetOffloads NONE = new NetOffloads(0, false, false, false, false);
}
