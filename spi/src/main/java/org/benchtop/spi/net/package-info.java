/** Network backends: the other end of a guest's cable. */
@NullMarked
package org.benchtop.spi.net;

import org.jspecify.annotations.NullMarked;
