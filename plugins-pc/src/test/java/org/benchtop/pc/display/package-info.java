@NullMarked
package org.benchtop.pc.display;

import org.jspecify.annotations.NullMarked;
