/** The compiler from class files to x86-64, its linker and the ring-0 monitor. */
@NullMarked
package org.benchtop.guests.compile;

import org.jspecify.annotations.NullMarked;
