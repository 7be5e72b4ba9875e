/** The firmware configuration device. */
@NullMarked
package org.benchtop.pc.firmware;

import org.jspecify.annotations.NullMarked;
