package org.benchtop.scsi.megasas;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.benchtop.scsi.ScsiDisk;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.FakePciFunction;

/** A fake machine with a MegaRAID adapter, a disk as logical drive 0, and their driver. */
final class MegasasMachine {
    static final int DISK_BYTES = 1 << 20;
    static final int FRAMES = 0x10000;
    static final int INFO = 0x20000;
    static final int REPLIES = 0x21000;
    static final int PRODUCER = 0x22000;
    static final int SENSE = 0x23000;
    static final int DATA = 0x30000;

    static final int WRITE = 0x08;
    static final int READ = 0x10;

    final FakeDeviceContext context;
    final DeviceGroup group;
    private int seen;

    MegasasMachine(FakeDeviceContext context, DeviceGroup group) {
        this.context = context;
        this.group = group;
    }

    static FakeDeviceContext context(BlockBackend backend) {
        return new FakeDeviceContext("machine", FakeGuestMemory.ofSize(4 << 20)).drive("disk0", backend);
    }

    static DeviceGroup group(ScsiHdOptions disk) {
        return DeviceGroup.of(new Megasas("hba0", MegasasOptions.defaults()), new ScsiDisk("disk0", disk));
    }

    static MegasasMachine running(BlockBackend backend) {
        return running(backend, ScsiHdOptions.of("disk0"));
    }

    /** With a reply queue, interrupts on, and the attention after power-on taken. */
    static MegasasMachine running(BlockBackend backend, ScsiHdOptions disk) {
        FakeDeviceContext context = context(backend);
        MegasasMachine m = new MegasasMachine(context, group(disk));
        m.group.attach(context);
        m.group.reset();
        m.begin();
        m.pass(60, 0, "00 00 00 00 00 00", 0, 0, 0);
        m.go(60);
        m.replies();
        m.write(MfiRegister.OUTBOUND_DOORBELL_CLEAR, -1);
        return m;
    }

    void begin() {
        context.pci().assignResources();
        context.pci().only().config(FakePciFunction.COMMAND, 2, 7);
        poke(INFO, b(32).putInt(4, 64).putLong(8, REPLIES).putLong(16, PRODUCER).array());
        poke(frame(63), header(0, 63, 0, 0).putLong(24, INFO).array());
        go(63);
        write(MfiRegister.OUTBOUND_INTR_MASK, 0x7fff_ffff);
        replies();
        write(MfiRegister.OUTBOUND_DOORBELL_CLEAR, -1);
    }

    static ByteBuffer b(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    static long frame(int id) {
        return FRAMES + id * 128L;
    }

    static ByteBuffer header(int command, int id, int flags, int length) {
        ByteBuffer frame = b(128);
        frame.put(0, (byte) command)
                .put(2, (byte) 0xff)
                .putInt(8, id)
                .putShort(16, (short) flags)
                .putInt(20, length);
        return frame;
    }

    void poke(long gpa, byte[] bytes) {
        context.memory().poke(gpa, bytes);
    }

    long base() {
        return context.pci().only().barAddress(0);
    }

    void write(MfiRegister register, int value) {
        context.mmioWrite(base() + register.offset(), 4, value & 0xffff_ffffL);
    }

    int read(MfiRegister register) {
        return (int) context.mmioRead(base() + register.offset(), 4);
    }

    /** A pass-through frame. */
    void pass(int id, int target, String cdb, int flags, long address, int length) {
        ByteBuffer frame = header(3, id, flags, length);
        byte[] raw = HexFormat.ofDelimiter(" ").parseHex(cdb);
        frame.put(1, (byte) 18).put(4, (byte) target).put(6, (byte) raw.length);
        frame.putInt(24, SENSE).put(32, raw);
        if (length > 0) {
            frame.put(7, (byte) 1).putInt(48, (int) address).putInt(52, length);
        }
        poke(frame(id), frame.array());
    }

    void direct(int id, int opcode, long address, int length) {
        ByteBuffer frame = header(5, id, READ, length);
        frame.put(7, (byte) 1).putInt(24, opcode).putInt(40, (int) address).putInt(44, length);
        poke(frame(id), frame.array());
    }

    /** Queues a frame and lets the adapter work. */
    void go(int id) {
        write(MfiRegister.INBOUND_QUEUE_PORT, (int) frame(id) | 1);
        context.runPending();
    }

    int status(int id) {
        return context.memory().bytes(frame(id) + 2, 1)[0] & 0xff;
    }

    int scsiStatus(int id) {
        return context.memory().bytes(frame(id) + 3, 1)[0] & 0xff;
    }

    /** The contexts of the frames that have come back. */
    List<Integer> replies() {
        List<Integer> all = new ArrayList<>();
        int now = int32(PRODUCER);
        while (seen != now) {
            all.add(int32(REPLIES + 4L * seen));
            seen = (seen + 1) % 64;
        }
        return all;
    }

    int int32(long gpa) {
        return ByteBuffer.wrap(context.memory().bytes(gpa, 4))
                .order(ByteOrder.LITTLE_ENDIAN)
                .getInt();
    }

    static byte[] pattern(int length, int seed) {
        byte[] bytes = new byte[length];
        new java.util.Random(seed).nextBytes(bytes);
        return bytes;
    }
}
