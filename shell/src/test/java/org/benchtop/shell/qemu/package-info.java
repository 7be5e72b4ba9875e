/** Tests of the translation of QEMU's command line. */
@NullMarked
package org.benchtop.shell.qemu;

import org.jspecify.annotations.NullMarked;
