/** The virtio SCSI host device (VIRTIO 1.2, 5.6). */
@NullMarked
package org.benchtop.virtio.scsi;

import org.jspecify.annotations.NullMarked;
