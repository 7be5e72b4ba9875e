/** The commands {@code benchtop kernel} and {@code benchtop notebook}, and the kernel's process. */
@NullMarked
package org.benchtop.notebook.command;

import org.jspecify.annotations.NullMarked;
