/** Tests of the guest compiler: against the JVM, and what it refuses. */
@NullMarked
package org.benchtop.guests.compile;

import org.jspecify.annotations.NullMarked;
