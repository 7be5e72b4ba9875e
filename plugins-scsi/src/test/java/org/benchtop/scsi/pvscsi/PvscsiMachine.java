package org.benchtop.scsi.pvscsi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.benchtop.scsi.ScsiDisk;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.FakePciFunction;

/** A fake machine with a PVSCSI adapter, a disk as target 0, and their driver. */
final class PvscsiMachine {
    static final int DISK_BYTES = 1 << 20;
    static final int STATE = 0x10000;
    static final int REQUESTS = 0x11000;
    static final int COMPLETIONS = 0x12000;
    static final int MESSAGES = 0x13000;
    static final int SENSE = 0x14000;
    static final int DATA = 0x20000;
    static final int LISTS = 0x80000;

    static final int TO_HOST = 1 << 3;
    static final int TO_DEVICE = 1 << 4;

    final FakeDeviceContext context;
    final DeviceGroup group;
    private int produced;
    private int seen;

    /** A completion. */
    record Done(long context, long dataBytes, int senseBytes, int hostStatus, int scsiStatus) {}

    PvscsiMachine(FakeDeviceContext context, DeviceGroup group) {
        this.context = context;
        this.group = group;
    }

    static FakeDeviceContext context(BlockBackend backend) {
        return new FakeDeviceContext("machine", FakeGuestMemory.ofSize(4 << 20)).drive("disk0", backend);
    }

    static DeviceGroup group(ScsiHdOptions disk) {
        return DeviceGroup.of(new Pvscsi("hba0", PvscsiOptions.defaults()), new ScsiDisk("disk0", disk));
    }

    /** With rings, interrupts on, and the attention after power-on taken. */
    static PvscsiMachine running(BlockBackend backend) {
        return running(backend, ScsiHdOptions.of("disk0"));
    }

    static PvscsiMachine running(BlockBackend backend, ScsiHdOptions disk) {
        FakeDeviceContext context = context(backend);
        PvscsiMachine m = new PvscsiMachine(context, group(disk));
        m.group.attach(context);
        m.group.reset();
        m.begin();
        m.submit(1, 0, "00 00 00 00 00 00", 0, 0, 0);
        m.go();
        return m;
    }

    /** What a driver does first. */
    void begin() {
        context.pci().assignResources();
        FakePciFunction function = context.pci().only();
        function.config(FakePciFunction.COMMAND, 2, 6);
        write(PvscsiRegister.COMMAND, 1);
        command(3, setupRings(1, 1));
        write(PvscsiRegister.INTR_MASK, 0xf);
        produced = 0;
        seen = 0;
    }

    static int[] setupRings(int requestPages, int completionPages) {
        int[] words = new int[132];
        words[0] = requestPages;
        words[1] = completionPages;
        words[2] = STATE >> 12;
        words[4] = REQUESTS >> 12;
        words[4 + 64] = COMPLETIONS >> 12;
        return words;
    }

    long base() {
        return context.pci().only().barAddress(0);
    }

    void write(PvscsiRegister register, int value) {
        context.mmioWrite(base() + register.offset(), 4, value & 0xffff_ffffL);
    }

    int read(PvscsiRegister register) {
        return (int) context.mmioRead(base() + register.offset(), 4);
    }

    int command(int what, int... words) {
        write(PvscsiRegister.COMMAND, what);
        for (int word : words) {
            write(PvscsiRegister.COMMAND_DATA, word);
        }
        return read(PvscsiRegister.COMMAND_STATUS);
    }

    void poke(long gpa, byte[] bytes) {
        context.memory().poke(gpa, bytes);
    }

    int int32(long gpa) {
        try {
            return context.memory().readInt(gpa);
        } catch (GuestFault e) {
            throw new AssertionError(e);
        }
    }

    void int32(long gpa, int value) {
        try {
            context.memory().writeInt(gpa, value);
        } catch (GuestFault e) {
            throw new AssertionError(e);
        }
    }

    /** Puts a request into the ring. */
    void submit(long id, int target, String cdb, int flags, long address, long length) {
        ByteBuffer b = ByteBuffer.allocate(128).order(ByteOrder.LITTLE_ENDIAN);
        b.putLong(0, id)
                .putLong(8, address)
                .putLong(16, length)
                .putLong(24, SENSE)
                .putInt(32, 18)
                .putInt(36, flags);
        byte[] raw = HexFormat.ofDelimiter(" ").parseHex(cdb);
        b.put(40, raw);
        b.put(56, (byte) raw.length);
        b.put(65, (byte) 0x20);
        b.put(67, (byte) target);
        poke(REQUESTS + produced % 32 * 128L, b.array());
        produced++;
        int32(STATE, produced);
    }

    /** Kicks and gives what has come back. */
    List<Done> go() {
        write(PvscsiRegister.KICK_RW_IO, 0);
        context.runPending();
        return collect();
    }

    List<Done> collect() {
        List<Done> all = new ArrayList<>();
        int now = int32(STATE + 12);
        while (seen != now) {
            ByteBuffer b = ByteBuffer.wrap(context.memory().bytes(COMPLETIONS + seen % 128 * 32L, 32))
                    .order(ByteOrder.LITTLE_ENDIAN);
            all.add(new Done(b.getLong(0), b.getLong(8), b.getInt(16), b.getShort(20), b.getShort(22)));
            seen++;
        }
        int32(STATE + 16, seen);
        return all;
    }

    static byte[] pattern(int length, int seed) {
        byte[] bytes = new byte[length];
        new java.util.Random(seed).nextBytes(bytes);
        return bytes;
    }
}
