/** Linux guests made of Debian packages: kernel, modules and initial RAM disk, without root. */
@NullMarked
package org.benchtop.guests.debian;

import org.jspecify.annotations.NullMarked;
