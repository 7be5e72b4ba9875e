package org.benchtop.spi.pci;

/**
 * Where BARs may be placed.
 *
 * @param ioBase first port
 * @param ioSizeBytes number of ports
 * @param memory32Base first address below 4 GiB
 * @param memory32SizeBytes its length
 * @param memory64Base first address above 4 GiB
 * @param memory64SizeBytes its length
 */
public record PciWindows(
        int ioBase,
        int ioSizeBytes,
        long memory32Base,
        long memory32SizeBytes,
        long memory64Base,
        long memory64SizeBytes) {}
