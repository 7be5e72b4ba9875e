/** What all virtio devices have in common, whatever their type and transport. */
@NullMarked
package org.benchtop.virtio.device;

import org.jspecify.annotations.NullMarked;
