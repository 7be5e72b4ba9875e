/** Host resources for plugins, which make no native calls themselves. */
@NullMarked
package org.benchtop.spi.host;

import org.jspecify.annotations.NullMarked;
