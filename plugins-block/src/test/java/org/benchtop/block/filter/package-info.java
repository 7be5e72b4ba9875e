@NullMarked
package org.benchtop.block.filter;

import org.jspecify.annotations.NullMarked;
