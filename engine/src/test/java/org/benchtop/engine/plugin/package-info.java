@NullMarked
package org.benchtop.engine.plugin;

import org.jspecify.annotations.NullMarked;
