/** PCI functions, their configuration space, BARs and interrupts. */
@NullMarked
package org.benchtop.spi.pci;

import org.jspecify.annotations.NullMarked;
