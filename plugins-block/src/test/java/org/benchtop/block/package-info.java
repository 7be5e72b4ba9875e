@NullMarked
package org.benchtop.block;

import org.jspecify.annotations.NullMarked;
