package org.benchtop.pc.acpi;

import java.util.List;
import org.benchtop.pc.common.IsaDescription;
import org.benchtop.spi.pci.PciWindows;

/**
 * What the tables describe.
 *
 * @param cpus number of vCPUs
 * @param windows where BARs may lie
 * @param devices devices with fixed ports
 */
record AcpiBoard(int cpus, PciWindows windows, List<IsaDescription> devices) {}
