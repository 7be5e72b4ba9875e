@NullMarked
package org.benchtop.xen.store;

import org.jspecify.annotations.NullMarked;
