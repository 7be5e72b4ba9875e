/** The machine engine: assembles a machine from its specification and runs it. */
@NullMarked
package org.benchtop.engine;

import org.jspecify.annotations.NullMarked;
