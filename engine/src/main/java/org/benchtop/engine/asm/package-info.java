/** An x86 disassembler in Intel syntax. */
@NullMarked
package org.benchtop.engine.asm;

import org.jspecify.annotations.NullMarked;
