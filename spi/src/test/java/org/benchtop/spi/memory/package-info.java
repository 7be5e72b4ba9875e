@NullMarked
package org.benchtop.spi.memory;

import org.jspecify.annotations.NullMarked;
