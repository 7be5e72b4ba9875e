/** Finds plugins and their types, and checks and describes machine specs against them. */
@NullMarked
package org.benchtop.engine.plugin;

import org.jspecify.annotations.NullMarked;
