/** SCSI: the plugin, its options and where disks find their places. */
@NullMarked
package org.benchtop.scsi;

import org.jspecify.annotations.NullMarked;
