/** Tests of cells and scripts. */
@NullMarked
package org.benchtop.shell.jshell;

import org.jspecify.annotations.NullMarked;
