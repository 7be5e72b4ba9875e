@NullMarked
package org.benchtop.scsi;

import org.jspecify.annotations.NullMarked;
