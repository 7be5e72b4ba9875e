@NullMarked
package org.benchtop.spi.bus;

import org.jspecify.annotations.NullMarked;
