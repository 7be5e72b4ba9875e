/** What the platform's devices share. */
@NullMarked
package org.benchtop.pc.common;

import org.jspecify.annotations.NullMarked;
