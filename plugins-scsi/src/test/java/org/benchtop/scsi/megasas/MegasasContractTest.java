package org.benchtop.scsi.megasas;

import java.util.Optional;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;

/** A MegaRAID adapter and a disk behind it keep the rules of every device. */
final class MegasasContractTest implements DeviceContract {
    @Override
    public Subject subject() {
        HeldBlockBackend drive = new HeldBlockBackend(MegasasMachine.DISK_BYTES);
        FakeDeviceContext context = MegasasMachine.context(drive);
        DeviceGroup group = MegasasMachine.group(ScsiHdOptions.of("disk0"));
        return new Subject(group, context, Optional.of(drive), () -> {
            MegasasMachine m = new MegasasMachine(context, group);
            m.begin();
            m.pass(1, 0, "00 00 00 00 00 00", 0, 0, 0);
            m.go(1);
            m.pass(2, 0, "28 00 00 00 00 00 00 00 01 00", MegasasMachine.READ, MegasasMachine.DATA, 512);
            m.write(MfiRegister.INBOUND_QUEUE_PORT, (int) MegasasMachine.frame(2) | 1);
        });
    }
}
