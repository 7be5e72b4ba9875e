@NullMarked
package org.benchtop.spi.pci;

import org.jspecify.annotations.NullMarked;
