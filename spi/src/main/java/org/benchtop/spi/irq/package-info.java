/** Interrupts: level lines, message-signalled interrupts, and the controller behind them. */
@NullMarked
package org.benchtop.spi.irq;

import org.jspecify.annotations.NullMarked;
