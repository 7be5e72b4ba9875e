@NullMarked
package org.benchtop.block.nbd;

import org.jspecify.annotations.NullMarked;
