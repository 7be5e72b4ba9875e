/** Serves a block backend to other programs as a network block device. */
@NullMarked
package org.benchtop.engine.nbd;

import org.jspecify.annotations.NullMarked;
