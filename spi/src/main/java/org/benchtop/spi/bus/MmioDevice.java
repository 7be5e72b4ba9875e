package org.benchtop.spi.bus;

/** A device behind a range of guest physical addresses. */
public interface MmioDevice extends RegisterAccess {}
