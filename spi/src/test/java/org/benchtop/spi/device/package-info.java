@NullMarked
package org.benchtop.spi.device;

import org.jspecify.annotations.NullMarked;
