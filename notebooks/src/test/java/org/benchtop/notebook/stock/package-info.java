/** A kernel of others. */
@NullMarked
package org.benchtop.notebook.stock;

import org.jspecify.annotations.NullMarked;
