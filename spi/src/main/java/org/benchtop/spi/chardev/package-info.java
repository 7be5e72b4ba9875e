/** Character backends: where a serial port's bytes come from and go to. */
@NullMarked
package org.benchtop.spi.chardev;

import org.jspecify.annotations.NullMarked;
