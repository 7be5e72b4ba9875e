@NullMarked
package org.benchtop.softcpu;

import org.jspecify.annotations.NullMarked;
