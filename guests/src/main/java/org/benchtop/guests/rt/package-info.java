/** The runtime of guests, itself guest code: console, clock, command line, memory, PCI, CPUs. */
@NullMarked
package org.benchtop.guests.rt;

import org.jspecify.annotations.NullMarked;
