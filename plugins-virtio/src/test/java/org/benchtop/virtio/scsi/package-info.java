@NullMarked
package org.benchtop.virtio.scsi;

import org.jspecify.annotations.NullMarked;
