@NullMarked
package org.benchtop.spi;

import org.jspecify.annotations.NullMarked;
