/**
 * The driver's side of virtio, written from VIRTIO 1.2 alone: finds a device on a PCI bus, negotiates, runs queues, and
 * breaks every rule on request.
 */
@NullMarked
package org.benchtop.testkit.virtio;

import org.jspecify.annotations.NullMarked;
