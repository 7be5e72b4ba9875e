package org.benchtop.engine.boot;

import org.benchtop.spi.cpu.Registers;
import org.benchtop.spi.cpu.SpecialRegisters;

/**
 * The state that the first vCPU starts with.
 *
 * @param registers general registers
 * @param specialRegisters segments, control registers and tables
 */
public record BootState(Registers registers, SpecialRegisters specialRegisters) {}
