/** Boot loaders: write kernels, firmware and boot structures into guest memory and give the first vCPU its state. */
@NullMarked
package org.benchtop.engine.boot;

import org.jspecify.annotations.NullMarked;
