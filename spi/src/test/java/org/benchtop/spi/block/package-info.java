@NullMarked
package org.benchtop.spi.block;

import org.jspecify.annotations.NullMarked;
