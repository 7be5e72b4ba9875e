/** Filters: drives that stand between a device and another drive. */
@NullMarked
package org.benchtop.block.filter;

import org.jspecify.annotations.NullMarked;
