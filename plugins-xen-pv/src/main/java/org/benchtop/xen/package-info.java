/** The Xen side of a machine: hypercalls, event channels, grants, xenstore, and the backends of paravirtual devices. */
@NullMarked
package org.benchtop.xen;

import org.jspecify.annotations.NullMarked;
