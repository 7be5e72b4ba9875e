/**
 * SCSI between host bus adapters and the targets behind them: what an adapter of any plugin needs to drive logical units of
 * any other.
 */
@NullMarked
package org.benchtop.spi.scsi;

import org.jspecify.annotations.NullMarked;
