/** What a machine is made of, written as YAML or in Java: specs, option binding and error messages with positions. */
@NullMarked
package org.benchtop.engine.config;

import org.jspecify.annotations.NullMarked;
