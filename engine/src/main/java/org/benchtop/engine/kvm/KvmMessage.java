package org.benchtop.engine.kvm;

import org.benchtop.spi.irq.Msi;

/** A message of a KVM guest; closed with its VM at the latest. */
sealed interface KvmMessage extends Msi permits SignalMsi, IrqfdMsi {}
