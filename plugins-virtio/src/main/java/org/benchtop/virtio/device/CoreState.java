package org.benchtop.virtio.device;

import java.util.List;
import org.benchtop.spi.state.SavedState;

/**
 * What is saved of a device, whatever its transport.
 *
 * @param status device status
 * @param driverFeatures what the driver has chosen
 * @param deviceFeatureSelect which half of the offered features is shown
 * @param driverFeatureSelect which half of the driver's features is shown
 * @param queueSelect which queue is shown
 * @param configGeneration configuration generation
 * @param queues all queues
 * @param device the device type's own
 */
public record CoreState(
        int status,
        long driverFeatures,
        int deviceFeatureSelect,
        int driverFeatureSelect,
        int queueSelect,
        int configGeneration,
        List<QueueState> queues,
        SavedState device) {
    public CoreState {
        queues = List.copyOf(queues);
    }
}
