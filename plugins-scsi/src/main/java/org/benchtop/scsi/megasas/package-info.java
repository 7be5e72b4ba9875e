/** LSI MegaRAID SAS. */
@NullMarked
package org.benchtop.scsi.megasas;

import org.jspecify.annotations.NullMarked;
