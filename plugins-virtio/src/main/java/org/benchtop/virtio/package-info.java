/** Paravirtual devices: the plugin's entry point. */
@NullMarked
package org.benchtop.virtio;

import org.jspecify.annotations.NullMarked;
