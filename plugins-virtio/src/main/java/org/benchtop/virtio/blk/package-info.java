/** The virtio block device (VIRTIO 1.2, 5.2). */
@NullMarked
package org.benchtop.virtio.blk;

import org.jspecify.annotations.NullMarked;
