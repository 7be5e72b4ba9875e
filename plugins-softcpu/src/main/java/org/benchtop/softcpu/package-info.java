/** The CPU engine {@code soft}: a full-system x86-64 processor in Java. */
@NullMarked
package org.benchtop.softcpu;

import org.jspecify.annotations.NullMarked;
