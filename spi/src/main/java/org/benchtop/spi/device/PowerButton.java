package org.benchtop.spi.device;

/** A service of the board: asks the guest to shut down, as a short press of the power button does. Any thread. */
public interface PowerButton {
    /** Presses the button; a guest without ACPI does not notice. */
    void press();
}
