package org.benchtop.ide;

import java.util.Optional;
import java.util.Set;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Nested;

/** IDE drives and controllers keep the rules of every device. */
final class IdeContractTest {
    private static final Set<String> TASK_FILE = Set.of(
            "channel0.ERROR",
            "channel0.COUNT",
            "channel0.LBA_LOW",
            "channel0.LBA_MID",
            "channel0.LBA_HIGH",
            "channel0.DEVICE",
            "channel0.STATUS");

    /** A disk with the controller that it brings along. */
    @Nested
    final class DiskContract implements DeviceContract {
        @Override
        public Subject subject() {
            HeldBlockBackend drive = new HeldBlockBackend(IdeMachine.DISK_BYTES);
            FakeDeviceContext context = IdeMachine.context().drive("disk0", drive);
            Device device = IdeDrive.disk("ide0", IdeHdOptions.of("disk0"));
            return new Subject(device, context, Optional.of(drive), () -> {
                context.pioWrite(0x1f6, 1, 0xe0);
                context.pioWrite(0x1f2, 1, 1);
                context.pioWrite(0x1f7, 1, 0x20);
            });
        }

        @Override
        public Set<String> variableRegisters() {
            return TASK_FILE;
        }
    }

    /** A CD drive with the controller that it brings along. */
    @Nested
    final class CdContract implements DeviceContract {
        @Override
        public Subject subject() {
            HeldBlockBackend drive = new HeldBlockBackend(IdeMachine.DISK_BYTES);
            FakeDeviceContext context = IdeMachine.context().drive("cd0", drive);
            Device device = IdeDrive.cd("ide0", IdeCdOptions.of("cd0"));
            return new Subject(device, context, Optional.of(drive), () -> {
                for (int i = 0; i < 2; i++) {
                    packet(context, 0);
                }
                packet(context, 0x28);
            });
        }

        private static void packet(FakeDeviceContext context, int operation) {
            context.pioWrite(0x1f5, 1, 0xf0);
            context.pioWrite(0x1f7, 1, 0xa0);
            context.pioWrite(0x1f0, 4, operation);
            context.pioWrite(0x1f0, 4, 0);
            context.pioWrite(0x1f0, 4, 1);
            context.runPending();
            context.pioRead(0x1f7, 1);
        }

        @Override
        public Set<String> variableRegisters() {
            return TASK_FILE;
        }
    }

    /** A PIIX4 controller without drives. */
    @Nested
    final class EmptyControllerContract implements DeviceContract {
        @Override
        public Subject subject() {
            FakeDeviceContext context = IdeMachine.context();
            return Subject.of(
                    new org.benchtop.ide.piix.PiixIde(
                            "ide0", org.benchtop.ide.piix.PiixIde.Chip.PIIX4, Optional.empty()),
                    context);
        }
    }
}
