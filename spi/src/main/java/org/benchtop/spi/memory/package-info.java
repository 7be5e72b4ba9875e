/** Guest memory: in-place access by guest physical address (gpa). */
@NullMarked
package org.benchtop.spi.memory;

import org.jspecify.annotations.NullMarked;
