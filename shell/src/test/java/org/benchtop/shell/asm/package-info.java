/** Tests of the disassembler. */
@NullMarked
package org.benchtop.shell.asm;

import org.jspecify.annotations.NullMarked;
