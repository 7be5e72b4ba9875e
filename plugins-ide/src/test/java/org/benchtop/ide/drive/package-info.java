@NullMarked
package org.benchtop.ide.drive;

import org.jspecify.annotations.NullMarked;
