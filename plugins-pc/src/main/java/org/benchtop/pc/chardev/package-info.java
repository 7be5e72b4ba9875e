/** Character backends: terminal, file, pty, socket, memory and null. */
@NullMarked
package org.benchtop.pc.chardev;

import org.jspecify.annotations.NullMarked;
