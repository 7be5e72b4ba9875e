package org.benchtop.scsi.pvscsi;

import java.util.Optional;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;

/** A PVSCSI adapter and a disk behind it keep the rules of every device. */
final class PvscsiContractTest implements DeviceContract {
    @Override
    public Subject subject() {
        HeldBlockBackend drive = new HeldBlockBackend(PvscsiMachine.DISK_BYTES);
        FakeDeviceContext context = PvscsiMachine.context(drive);
        DeviceGroup group = PvscsiMachine.group(ScsiHdOptions.of("disk0"));
        return new Subject(group, context, Optional.of(drive), () -> {
            PvscsiMachine m = new PvscsiMachine(context, group);
            m.begin();
            m.submit(1, 0, "00 00 00 00 00 00", 0, 0, 0);
            m.submit(2, 0, "28 00 00 00 00 00 00 00 01 00", PvscsiMachine.TO_HOST, PvscsiMachine.DATA, 512);
            m.write(PvscsiRegister.KICK_RW_IO, 0);
        });
    }
}
