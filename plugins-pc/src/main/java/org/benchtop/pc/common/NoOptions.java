package org.benchtop.pc.common;

/** The options of a type that has none. */
public record NoOptions() {}
