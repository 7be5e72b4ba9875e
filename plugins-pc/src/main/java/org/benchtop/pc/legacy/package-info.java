/** Devices on fixed ports: RTC, keyboard controller, exit, debug and POST ports. */
@NullMarked
package org.benchtop.pc.legacy;

import org.jspecify.annotations.NullMarked;
