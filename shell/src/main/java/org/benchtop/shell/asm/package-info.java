/** An x86 disassembler in Intel syntax. */
@NullMarked
package org.benchtop.shell.asm;

import org.jspecify.annotations.NullMarked;
