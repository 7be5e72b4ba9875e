package org.benchtop.spi.cpu;

/** GDTR or IDTR. */
public record DescriptorTable(long base, int limit) {}
