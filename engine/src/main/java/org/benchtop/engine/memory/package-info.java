/** Guest RAM and the guest physical memory map. */
@NullMarked
package org.benchtop.engine.memory;

import org.jspecify.annotations.NullMarked;
