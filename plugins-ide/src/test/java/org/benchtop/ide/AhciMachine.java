package org.benchtop.ide;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import org.benchtop.ide.ahci.Ahci;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakePciFunction;

/** A fake machine with an AHCI adapter and the driver's side of its first port. */
final class AhciMachine {
    static final long LIST = 0x10000;
    static final long RECEIVED = 0x10400;
    static final long TABLES = 0x11000;
    static final long DATA = 0x40000;
    static final int GHC = 0x04;
    static final int HBA_IS = 0x08;
    static final int PORT = 0x100;
    static final int IS = PORT + 0x10;
    static final int IE = PORT + 0x14;
    static final int CMD = PORT + 0x18;
    static final int TFD = PORT + 0x20;
    static final int SIG = PORT + 0x24;
    static final int SSTS = PORT + 0x28;
    static final int SCTL = PORT + 0x2c;
    static final int SERR = PORT + 0x30;
    static final int SACT = PORT + 0x34;
    static final int CI = PORT + 0x38;

    final FakeDeviceContext context;
    final Device hba;
    final Device drive;

    AhciMachine(FakeDeviceContext context, Device drive) {
        this.context = context;
        this.hba = new Ahci("ahci", Optional.empty(), 6);
        this.drive = drive;
        hba.attach(context);
        drive.attach(context);
        hba.reset();
        drive.reset();
        context.pci().assignResources();
        FakePciFunction function = context.pci().only();
        function.config(4, 2, function.config(4, 2) | 6);
        start();
    }

    static AhciMachine disk(BlockBackend backend) {
        FakeDeviceContext context = IdeMachine.context().drive("disk0", backend);
        return new AhciMachine(context, IdeDrive.disk("disk", IdeHdOptions.of("disk0")));
    }

    static AhciMachine cd(BlockBackend backend) {
        FakeDeviceContext context = IdeMachine.context().drive("cd0", backend);
        return new AhciMachine(context, IdeDrive.cd("cd", IdeCdOptions.of("cd0")));
    }

    void start() {
        write(PORT, LIST);
        write(PORT + 8, RECEIVED);
        write(SERR, 0xffff_ffffL);
        write(IS, 0xffff_ffffL);
        write(IE, 0xffff_ffffL);
        write(CMD, 0x11);
        write(GHC, 0x8000_0002L);
    }

    int read(int offset) {
        return (int) context.mmioRead(context.pci().only().barAddress(5) + offset, 4);
    }

    void write(int offset, long value) {
        context.mmioWrite(context.pci().only().barAddress(5) + offset, 4, value);
    }

    boolean interrupt() {
        return context.pci().only().intxAsserted();
    }

    /** Puts a command into a slot: a FIS and regions as address, length and so on. */
    void prepare(int slot, int command, int features, long lba, int count, int device, long... regions) {
        byte[] fis = new byte[20];
        fis[0] = 0x27;
        fis[1] = (byte) 0x80;
        fis[2] = (byte) command;
        fis[3] = (byte) features;
        fis[7] = (byte) device;
        fis[11] = (byte) (features >> 8);
        fis[12] = (byte) count;
        fis[13] = (byte) (count >> 8);
        for (int i = 0; i < 3; i++) {
            fis[4 + i] = (byte) (lba >> 8 * i);
            fis[8 + i] = (byte) (lba >> 24 + 8 * i);
        }
        prepare(slot, fis, new byte[0], regions);
    }

    void prepare(int slot, byte[] fis, byte[] packet, long... regions) {
        long table = TABLES + 0x1000L * slot;
        ByteBuffer bytes = ByteBuffer.allocate(0x80 + 8 * regions.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(fis).position(0x40).put(packet).position(0x80);
        for (int i = 0; i < regions.length; i += 2) {
            bytes.putLong(regions[i]).putInt(0).putInt((int) regions[i + 1] - 1);
        }
        context.memory().poke(table, bytes.array());
        ByteBuffer header = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
        header.putInt(5 | (packet.length > 0 ? 0x20 : 0) | regions.length / 2 << 16)
                .putInt(0)
                .putLong(table);
        context.memory().poke(LIST + 32L * slot, header.array());
    }

    void issue(int slots) {
        write(CI, slots);
        context.runPending();
    }

    void queue(int slots) {
        write(SACT, slots);
        issue(slots);
    }

    /** Sends a packet in slot 0. */
    void packet(int features, int[] bytes, long... regions) {
        byte[] fis = new byte[20];
        fis[0] = 0x27;
        fis[1] = (byte) 0x80;
        fis[2] = (byte) 0xa0;
        fis[3] = (byte) features;
        fis[5] = (byte) 0xfe;
        fis[6] = (byte) 0xff;
        byte[] packet = new byte[16];
        for (int i = 0; i < bytes.length; i++) {
            packet[i] = (byte) bytes[i];
        }
        prepare(0, fis, packet, regions);
        issue(1);
    }

    int clearInterrupts() {
        int status = read(IS);
        write(IS, status);
        write(HBA_IS, 1);
        return status;
    }

    byte[] memory(long gpa, int bytes) {
        return context.memory().bytes(gpa, bytes);
    }
}
