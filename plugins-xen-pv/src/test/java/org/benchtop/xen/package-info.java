@NullMarked
package org.benchtop.xen;

import org.jspecify.annotations.NullMarked;
