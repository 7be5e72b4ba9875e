/** The split virtqueue and what moves descriptor chains between its rings and a device. */
@NullMarked
package org.benchtop.virtio.queue;

import org.jspecify.annotations.NullMarked;
