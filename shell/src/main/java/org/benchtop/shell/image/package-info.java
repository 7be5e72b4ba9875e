/** {@code benchtop image}: makes, converts, checks and changes disk images. */
@NullMarked
package org.benchtop.shell.image;

import org.jspecify.annotations.NullMarked;
