/** Serial ATA host adapters after AHCI 1.3.1. */
@NullMarked
package org.benchtop.ide.ahci;

import org.jspecify.annotations.NullMarked;
