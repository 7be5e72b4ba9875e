@NullMarked
package org.benchtop.softcpu.fp;

import org.jspecify.annotations.NullMarked;
