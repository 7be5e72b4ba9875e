package org.benchtop.virtio.blk;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeBlkRequests;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtioDriver;

/** virtio-blk-pci keeps the rules of every device. */
final class VirtioBlkPciContractTest implements DeviceContract {
    @Override
    public Subject subject() {
        HeldBlockBackend drive = BlkMachine.disk();
        FakeDeviceContext context =
                new FakeDeviceContext("blk0", FakeGuestMemory.ofSize(16 << 20)).drive("disk0", drive);
        Device device = new VirtioBlkPciType()
                .create(BlkMachine.options().with(o -> o.queues = 2).build(), context);
        return new Subject(device, context, Optional.of(drive), () -> {
            FakeVirtioDriver driver = FakeVirtioDriver.of(context);
            FakeVirtQueue queue = driver.start(-1L, 1, 16).getFirst();
            context.runPending();
            new FakeBlkRequests(driver.heap(), queue).read(0, 4096);
            queue.kick();
        });
    }

    @Override
    public Set<String> variableRegisters() {
        Stream<String> common = Stream.of("common.DEVICE_FEATURE", "common.NUM_QUEUES", "common.QUEUE_SIZE");
        Stream<String> config = Stream.of(BlkConfigRegister.values()).map(register -> "blk-config." + register.name());
        return Stream.concat(common, config).collect(Collectors.toSet());
    }
}
