package org.benchtop.spi.bus;

/** A device behind a range of x86 I/O ports. */
public interface PioDevice extends RegisterAccess {}
