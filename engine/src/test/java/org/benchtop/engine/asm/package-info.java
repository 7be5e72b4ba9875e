/** Tests of the disassembler. */
@NullMarked
package org.benchtop.engine.asm;

import org.jspecify.annotations.NullMarked;
