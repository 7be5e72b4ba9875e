@NullMarked
package org.benchtop.shell;

import org.jspecify.annotations.NullMarked;
