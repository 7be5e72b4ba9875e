/** IDE controllers of Intel's PIIX chips with bus-master DMA. */
@NullMarked
package org.benchtop.ide.piix;

import org.jspecify.annotations.NullMarked;
