@NullMarked
package org.benchtop.block.qcow2;

import org.jspecify.annotations.NullMarked;
