/** Linux system calls through the foreign-function interface, and what is built on them: event loops, files, RAM. */
@NullMarked
package org.benchtop.engine.linux;

import org.jspecify.annotations.NullMarked;
