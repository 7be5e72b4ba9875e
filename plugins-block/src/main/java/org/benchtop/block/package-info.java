/** Block backends that come with Benchtop: {@code file}, {@code memory} and {@code null}. */
@NullMarked
package org.benchtop.block;

import org.jspecify.annotations.NullMarked;
