/** What host bus adapters with memory queues have in common. */
@NullMarked
package org.benchtop.scsi.hba;

import org.jspecify.annotations.NullMarked;
