/** Guest programs that need no operating system. */
@NullMarked
package org.benchtop.spi.guest;

import org.jspecify.annotations.NullMarked;
