package org.benchtop.virtio.pci;

import java.util.Optional;
import org.benchtop.spi.pci.PciAddress;

/**
 * What is chosen for a device on the PCI bus, whatever its type.
 *
 * @param address where it sits; empty for the next free slot
 * @param ioeventfd whether notifications ring a doorbell without an exit, where the CPU engine can do that
 * @param eventIdx whether VIRTIO_F_EVENT_IDX is offered
 * @param indirectDesc whether VIRTIO_F_INDIRECT_DESC is offered
 * @param bootindex place in the firmware's boot order
 */
public record VirtioPciOptions(
        Optional<PciAddress> address,
        boolean ioeventfd,
        boolean eventIdx,
        boolean indirectDesc,
        Optional<Integer> bootindex) {}
