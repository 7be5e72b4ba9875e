/** The LSI 53C895A: its registers, its SCRIPTS processor, and the parallel bus with the targets on it. */
@NullMarked
package org.benchtop.scsi.lsi;

import org.jspecify.annotations.NullMarked;
