/** Virtio over PCI (VIRTIO 1.2, 4.1), without the legacy interface. */
@NullMarked
package org.benchtop.virtio.pci;

import org.jspecify.annotations.NullMarked;
