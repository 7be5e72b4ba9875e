/** Guest programs written in Java: the compiler's front door, the programs, and what the host needs to know of them. */
@NullMarked
package org.benchtop.guests;

import org.jspecify.annotations.NullMarked;
