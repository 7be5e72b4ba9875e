@NullMarked
package org.benchtop.scsi.megasas;

import org.jspecify.annotations.NullMarked;
