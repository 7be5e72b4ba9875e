/**
 * The qcow2 image format, versions 2 and 3. Source: docs/interop/qcow2.txt of QEMU.
 */
@NullMarked
package org.benchtop.block.qcow2;

import org.jspecify.annotations.NullMarked;
