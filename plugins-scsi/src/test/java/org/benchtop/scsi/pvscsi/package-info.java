@NullMarked
package org.benchtop.scsi.pvscsi;

import org.jspecify.annotations.NullMarked;
