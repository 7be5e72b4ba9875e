@NullMarked
package org.benchtop.ide.ahci;

import org.jspecify.annotations.NullMarked;
