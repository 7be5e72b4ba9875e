/** Image formats of other hypervisors, read-only: VHD, VHDX, VMDK. */
@NullMarked
package org.benchtop.block.image;

import org.jspecify.annotations.NullMarked;
