/** Tests of the Debian guest builder. */
@NullMarked
package org.benchtop.guests.debian;

import org.jspecify.annotations.NullMarked;
