package org.benchtop.scsi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import org.benchtop.scsi.lsi.Lsi53c895a;
import org.benchtop.scsi.lsi.LsiOptions;
import org.benchtop.testkit.DeviceContract;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.HeldBlockBackend;
import org.junit.jupiter.api.Nested;

/** The 53C895A keeps the rules of every device, alone and with a disk. */
final class LsiContractTest {
    private static final int SCRIPT = 0x10000;
    private static final int IDENTIFY = 0x11000;
    private static final int CDB = 0x11010;
    private static final int ANSWER = 0x12000;
    private static final int REGISTERS = 1;
    private static final int DSP = 0x2c;

    private static Lsi53c895a adapter() {
        return new Lsi53c895a("scsi0", new LsiOptions(Optional.empty(), Optional.empty()));
    }

    /** The adapter without targets. */
    @Nested
    final class AdapterContract implements DeviceContract {
        @Override
        public Subject subject() {
            return Subject.of(adapter(), new FakeDeviceContext());
        }
    }

    /** The adapter with a disk at identifier 0. */
    @Nested
    final class DiskContract implements DeviceContract {
        @Override
        public Subject subject() {
            HeldBlockBackend drive = new HeldBlockBackend(1 << 20);
            FakeDeviceContext context = new FakeDeviceContext().drive("disk0", drive);
            DeviceGroup group = DeviceGroup.of(adapter(), new ScsiDisk("disk", ScsiHdOptions.of("disk0")));
            return new Subject(group, context, Optional.of(drive), () -> startRequest(context));
        }
    }

    /** Takes the unit attention, then reads block 0. */
    private static void startRequest(FakeDeviceContext context) {
        context.memory().poke(IDENTIFY, new byte[] {(byte) 0x80});
        run(
                context,
                new byte[6],
                0x0300_0001,
                ANSWER,
                0x0700_0001,
                ANSWER,
                0x6000_0040,
                0,
                0x4800_0000,
                0,
                0x9808_0000,
                0);
        run(context, new byte[] {0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0}, 0x0100_0200, ANSWER, 0x9808_0000, 0);
    }

    private static void run(FakeDeviceContext context, byte[] cdb, int... rest) {
        ByteBuffer script = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);
        script.putInt(0x4100_0000).putInt(0);
        script.putInt(0x0600_0001).putInt(IDENTIFY);
        script.putInt(0x0200_0000 | cdb.length).putInt(CDB);
        for (int word : rest) {
            script.putInt(word);
        }
        context.memory().poke(SCRIPT, script.array());
        context.memory().poke(CDB, cdb);
        context.mmioWrite(context.pci().only().barAddress(REGISTERS) + DSP, 4, SCRIPT);
        context.runPending();
    }
}
