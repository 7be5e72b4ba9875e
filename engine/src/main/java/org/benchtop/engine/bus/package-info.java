/** Port and memory buses: range maps with lock-free look-up. */
@NullMarked
package org.benchtop.engine.bus;

import org.jspecify.annotations.NullMarked;
