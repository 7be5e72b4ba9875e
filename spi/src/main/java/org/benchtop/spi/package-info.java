/** The contract between the Benchtop engine and its plugins: what a plugin is and how it reports errors. */
@NullMarked
package org.benchtop.spi;

import org.jspecify.annotations.NullMarked;
