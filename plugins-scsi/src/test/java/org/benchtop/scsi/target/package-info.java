@NullMarked
package org.benchtop.scsi.target;

import org.jspecify.annotations.NullMarked;
