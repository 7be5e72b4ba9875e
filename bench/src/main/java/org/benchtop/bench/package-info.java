/** Jobs, experiments and their reports. */
@NullMarked
package org.benchtop.bench;

import org.jspecify.annotations.NullMarked;
