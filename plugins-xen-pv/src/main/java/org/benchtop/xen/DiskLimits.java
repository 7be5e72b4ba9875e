package org.benchtop.xen;

/**
 * What requests may ask for.
 *
 * @param capacitySectors in units of 512 bytes
 * @param indirectSegments in one indirect request
 * @param maxElements pieces of memory that the backend takes in one request
 * @param discard whether discards are done
 */
record DiskLimits(long capacitySectors, int indirectSegments, int maxElements, boolean readOnly, boolean discard) {}
