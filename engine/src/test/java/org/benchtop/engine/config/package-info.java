@NullMarked
package org.benchtop.engine.config;

import org.jspecify.annotations.NullMarked;
