/** Repeats recorded block requests. */
@NullMarked
package org.benchtop.engine.replay;

import org.jspecify.annotations.NullMarked;
