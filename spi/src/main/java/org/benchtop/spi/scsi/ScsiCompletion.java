package org.benchtop.spi.scsi;

/** Told when a command has come back. */
@FunctionalInterface
public interface ScsiCompletion {
    /** The command belongs to its adapter again; {@link ScsiCommand#outcome} says how it came back. On its port's loop. */
    void completed(ScsiCommand command);
}
