/** The kernel: executes cells, answers questions about code, and routes what cells show. */
@NullMarked
package org.benchtop.notebook.kernel;

import org.jspecify.annotations.NullMarked;
