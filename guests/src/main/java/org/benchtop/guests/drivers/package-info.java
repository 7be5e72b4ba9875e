/** Disk drivers in guest Java. */
@NullMarked
package org.benchtop.guests.drivers;

import org.jspecify.annotations.NullMarked;
