@NullMarked
package org.benchtop.ide;

import org.jspecify.annotations.NullMarked;
