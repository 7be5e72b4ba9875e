package org.benchtop.virtio.pci;

import java.util.List;
import org.benchtop.spi.state.SavedState;
import org.benchtop.virtio.device.CoreState;

/**
 * What is saved of a virtio device on the PCI bus.
 *
 * @param core device
 * @param configVector MSI-X vector of configuration changes
 * @param queueVectors MSI-X vectors of the queues
 * @param isr interrupt status
 * @param function header, BARs and MSI-X table
 */
public record VirtioPciState(
        CoreState core, int configVector, List<Integer> queueVectors, int isr, SavedState function) {
    public VirtioPciState {
        queueVectors = List.copyOf(queueVectors);
    }
}
