@NullMarked
package org.benchtop.scsi.lsi;

import org.jspecify.annotations.NullMarked;
