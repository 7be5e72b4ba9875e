/** SCSI targets: logical units that know no bus, and what carries their commands to a drive. */
@NullMarked
package org.benchtop.scsi.target;

import org.jspecify.annotations.NullMarked;
