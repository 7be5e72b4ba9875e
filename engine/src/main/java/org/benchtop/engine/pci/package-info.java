/** PCI bus 0: configuration space, BARs, INTx, MSI and MSI-X (PCI Local Bus 3.0). */
@NullMarked
package org.benchtop.engine.pci;

import org.jspecify.annotations.NullMarked;
