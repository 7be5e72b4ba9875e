/** CPU engines: what executes guest code. */
@NullMarked
package org.benchtop.spi.cpu;

import org.jspecify.annotations.NullMarked;
