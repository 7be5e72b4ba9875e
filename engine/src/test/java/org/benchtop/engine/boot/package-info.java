@NullMarked
package org.benchtop.engine.boot;

import org.jspecify.annotations.NullMarked;
