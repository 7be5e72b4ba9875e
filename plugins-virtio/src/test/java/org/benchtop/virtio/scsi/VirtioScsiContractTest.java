package org.benchtop.virtio.scsi;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.benchtop.scsi.ScsiDisk;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtQueue.Buffer;
import org.benchtop.testkit.virtio.FakeVirtioDriver;

/** virtio-scsi-pci and a disk behind it keep the rules of every device. */
final class VirtioScsiContractTest implements DeviceContract {
    @Override
    public Subject subject() {
        HeldBlockBackend drive = new HeldBlockBackend(ScsiMachine.DISK_BYTES);
        FakeDeviceContext context = ScsiMachine.context(drive);
        DeviceGroup group = DeviceGroup.of(
                ScsiMachine.adapter(VirtioScsiPciOptions.defaults(), context),
                new ScsiDisk("disk0", ScsiHdOptions.of("disk0")));
        return new Subject(group, context, Optional.of(drive), () -> {
            FakeVirtioDriver driver = FakeVirtioDriver.of(context);
            FakeVirtQueue queue = driver.start(-1L, 3, 16).getLast();
            context.runPending();
            // The first command takes the attention, the second one reads.
            command(driver, queue, 0x00);
            command(driver, queue, 0x28);
            queue.kick();
        });
    }

    private static void command(FakeVirtioDriver driver, FakeVirtQueue queue, int operation) {
        long request = driver.heap().allocate(51, 16);
        driver.heap().segment(request, 51).set(java.lang.foreign.ValueLayout.JAVA_BYTE, 0, (byte) 1);
        driver.heap().segment(request, 51).set(java.lang.foreign.ValueLayout.JAVA_BYTE, 19, (byte) operation);
        if (operation == 0x28) {
            driver.heap().segment(request, 51).set(java.lang.foreign.ValueLayout.JAVA_BYTE, 19 + 8, (byte) 1);
        }
        long response = driver.heap().allocate(108 + 512, 16);
        queue.add(List.of(Buffer.readable(request, 51), Buffer.writable(response, 108 + 512)));
    }

    @Override
    public Set<String> variableRegisters() {
        Stream<String> common = Stream.of("common.DEVICE_FEATURE", "common.NUM_QUEUES", "common.QUEUE_SIZE");
        Stream<String> config =
                Stream.of(ScsiConfigRegister.values()).map(register -> "scsi-config." + register.name());
        return Stream.concat(common, config).collect(Collectors.toSet());
    }
}
