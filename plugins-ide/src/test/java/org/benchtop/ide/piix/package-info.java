@NullMarked
package org.benchtop.ide.piix;

import org.jspecify.annotations.NullMarked;
