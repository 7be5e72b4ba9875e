/** The guest programs. */
@NullMarked
package org.benchtop.guests.programs;

import org.jspecify.annotations.NullMarked;
