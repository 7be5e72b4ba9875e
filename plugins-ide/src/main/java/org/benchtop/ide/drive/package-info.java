/** ATA and ATAPI devices that know no bus. */
@NullMarked
package org.benchtop.ide.drive;

import org.jspecify.annotations.NullMarked;
