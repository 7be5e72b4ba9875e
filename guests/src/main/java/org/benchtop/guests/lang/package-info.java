/** What guest code is written against. */
@NullMarked
package org.benchtop.guests.lang;

import org.jspecify.annotations.NullMarked;
