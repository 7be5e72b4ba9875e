package org.benchtop.spi.pci;

/**
 * Where a function sits on bus 0.
 *
 * @param device 0 to 31
 * @param function 0 to 7
 */
public record PciAddress(int device, int function) {
    public PciAddress {
        if (device < 0 || device > 31 || function < 0 || function > 7) {
            throw new IllegalArgumentException(
                    "PCI address " + device + "." + function + ": device must be 0..31, function 0..7");
        }
    }

    /** Device and function as in the configuration address register. */
    public int devfn() {
        return device << 3 | function;
    }

    /** The Open Firmware path of the function, as firmware is told it: {@code /pci@i0cf8/scsi@4}. */
    public String firmwarePath(String node) {
        return String.format("/pci@i0cf8/%s@%x", node, device) + (function == 0 ? "" : "," + function);
    }

    /** Parses {@code 4} or {@code 0x1f.3} (device in hex as lspci prints it, with an optional function). */
    public static PciAddress parse(String text) {
        String[] parts = text.strip().split("\\.", -1);
        try {
            if (parts.length > 2) {
                throw new NumberFormatException(text);
            }
            String device = parts[0].startsWith("0x") ? parts[0].substring(2) : parts[0];
            return new PciAddress(Integer.parseInt(device, 16), parts.length == 2 ? Integer.parseInt(parts[1]) : 0);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    "PCI address \"" + text + "\" is not DEVICE or DEVICE.FUNCTION in hex", e);
        }
    }

    @Override
    public String toString() {
        return String.format("00:%02x.%d", device, function);
    }
}
