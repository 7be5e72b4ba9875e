package org.benchtop.ide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.pci.PciFunction;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.HeldBlockBackend;

/** A fake machine with drives on a PIIX3 controller, and the driver's side of it. */
final class IdeMachine {
    static final int DISK_BYTES = 1 << 20;
    static final int ERROR = 1;
    static final int COUNT = 2;
    static final int LBA_LOW = 3;
    static final int LBA_MID = 4;
    static final int LBA_HIGH = 5;
    static final int DEVICE = 6;
    static final int STATUS = 7;
    static final int BSY = 0x80;
    static final int DRQ = 0x08;
    static final int ERR = 0x01;
    /** Where tests put descriptors and data. */
    static final long TABLE = 0x10000;

    static final long DATA = 0x20000;

    final FakeDeviceContext context;
    final Device device;
    private int channelBase = 0x1f0;

    IdeMachine(FakeDeviceContext context, Device... devices) {
        this.context = context;
        this.device = devices[0];
        for (Device each : devices) {
            each.attach(context);
        }
        for (Device each : devices) {
            each.reset();
        }
        context.pci().assignResources();
        PciFunction function = context.pci().only();
        function.config(4, 2, function.config(4, 2) | 5);
    }

    static FakeDeviceContext context() {
        return new FakeDeviceContext("ide0", FakeGuestMemory.ofSize(16 << 20));
    }

    /** A disk as master of the first channel. */
    static IdeMachine disk(BlockBackend backend) {
        FakeDeviceContext context = context().drive("disk0", backend);
        return new IdeMachine(context, IdeDrive.disk("ide0", IdeHdOptions.of("disk0")));
    }

    /** A disk that completes requests at once. */
    static IdeMachine disk() {
        return disk(new HeldBlockBackend(DISK_BYTES).automatic());
    }

    /** A CD drive as master of the first channel. */
    static IdeMachine cd(BlockBackend backend) {
        FakeDeviceContext context = context().drive("cd0", backend);
        return new IdeMachine(context, IdeDrive.cd("ide0", IdeCdOptions.of("cd0")));
    }

    static byte[] pattern(int bytes, long seed) {
        byte[] data = new byte[bytes];
        new Random(seed).nextBytes(data);
        return data;
    }

    /** Uses the second channel from now on. */
    IdeMachine secondary() {
        channelBase = 0x170;
        return this;
    }

    int in(int register) {
        return (int) context.pioRead(channelBase + register, 1);
    }

    void out(int register, int value) {
        context.pioWrite(channelBase + register, 1, value);
    }

    int altStatus() {
        return (int) context.pioRead(channelBase + 0x206, 1);
    }

    void control(int value) {
        context.pioWrite(channelBase + 0x206, 1, value);
    }

    boolean interrupt() {
        return context.irqs().asserted(channelBase == 0x1f0 ? 14 : 15);
    }

    /** Writes a 28-bit command and lets the device work. */
    void command(int command, long lba, int count) {
        out(DEVICE, 0xe0 | (int) (lba >> 24) & 15);
        out(COUNT, count);
        out(LBA_LOW, (int) lba & 0xff);
        out(LBA_MID, (int) (lba >> 8) & 0xff);
        out(LBA_HIGH, (int) (lba >> 16) & 0xff);
        out(STATUS, command);
        context.runPending();
    }

    /** Writes a 48-bit command and lets the device work. */
    void commandExt(int command, int features, long lba, int count) {
        out(DEVICE, 0xe0);
        for (int half = 1; half >= 0; half--) {
            out(ERROR, features >> 8 * half & 0xff);
            out(COUNT, count >> 8 * half & 0xff);
            out(LBA_LOW, (int) (lba >> 24 * half) & 0xff);
            out(LBA_MID, (int) (lba >> 24 * half + 8) & 0xff);
            out(LBA_HIGH, (int) (lba >> 24 * half + 16) & 0xff);
        }
        out(STATUS, command);
        context.runPending();
    }

    /** Sends a command without an address. */
    int simple(int command, int features, int count) {
        out(ERROR, features);
        command(command, 0, count);
        return in(STATUS);
    }

    byte[] readData(int bytes) {
        byte[] data = new byte[bytes];
        for (int i = 0; i < bytes; i += 2) {
            long word = context.pioRead(channelBase, 2);
            data[i] = (byte) word;
            if (i + 1 < bytes) {
                data[i + 1] = (byte) (word >> 8);
            }
            context.runPending();
        }
        return data;
    }

    void writeData(byte[] data) {
        for (int i = 0; i < data.length; i += 4) {
            long word = 0;
            for (int j = 0; j < 4; j++) {
                word |= (data[i + j] & 0xffL) << 8 * j;
            }
            context.pioWrite(channelBase, 4, word);
            context.runPending();
        }
    }

    int[] identify() {
        command(0xec, 0, 0);
        assertEquals(0x58, in(STATUS));
        byte[] data = readData(512);
        return words(data);
    }

    static int[] words(byte[] data) {
        int[] words = new int[data.length / 2];
        for (int i = 0; i < words.length; i++) {
            words[i] = data[2 * i] & 0xff | (data[2 * i + 1] & 0xff) << 8;
        }
        return words;
    }

    // Bus master.

    int master() {
        return (int) context.pci().only().barAddress(4) + (channelBase == 0x1f0 ? 0 : 8);
    }

    int masterStatus() {
        return (int) context.pioRead(master() + 2, 1);
    }

    /** Describes regions as address, length, address, length and so on; the last one ends the table. */
    void table(long... regions) {
        try {
            for (int i = 0; i < regions.length; i += 2) {
                long at = TABLE + 4L * i;
                context.memory().writeInt(at, (int) regions[i]);
                int end = i + 2 == regions.length ? 0x8000_0000 : 0;
                context.memory().writeInt(at + 4, (int) regions[i + 1] & 0xffff | end);
            }
        } catch (org.benchtop.spi.memory.GuestFault e) {
            throw new AssertionError(e);
        }
        context.pioWrite(master() + 4, 4, TABLE);
    }

    void startMaster(boolean toMemory) {
        context.pioWrite(master() + 2, 1, 6);
        context.pioWrite(master(), 1, toMemory ? 8 : 0);
        context.pioWrite(master(), 1, toMemory ? 9 : 1);
        context.runPending();
    }

    void stopMaster() {
        context.pioWrite(master(), 1, 0);
    }

    byte[] memory(long gpa, int bytes) {
        byte[] data = new byte[bytes];
        try {
            context.memory().read(gpa, data, 0, bytes);
        } catch (org.benchtop.spi.memory.GuestFault e) {
            throw new AssertionError(e);
        }
        return data;
    }

    void poke(long gpa, byte[] data) {
        try {
            context.memory().write(gpa, data, 0, data.length);
        } catch (org.benchtop.spi.memory.GuestFault e) {
            throw new AssertionError(e);
        }
    }

    // Packets.

    /** Sends a packet with a byte count limit; leaves the answer on offer. */
    void packet(int limit, boolean dma, int... bytes) {
        out(DEVICE, 0xa0);
        out(ERROR, dma ? 1 : 0);
        out(LBA_MID, limit & 0xff);
        out(LBA_HIGH, limit >> 8);
        out(STATUS, 0xa0);
        assertEquals(0x58, in(STATUS), "packet on offer");
        assertEquals(1, in(COUNT), "interrupt reason");
        byte[] packet = new byte[12];
        for (int i = 0; i < bytes.length; i++) {
            packet[i] = (byte) bytes[i];
        }
        writeData(packet);
        context.runPending();
    }

    /** The length of the block on offer. */
    int offered() {
        return in(LBA_MID) | in(LBA_HIGH) << 8;
    }

    /** Sends a packet and gives its sense key; 0 when it succeeds without data. */
    int senseKey(int... bytes) {
        packet(0xfffe, false, bytes);
        return (in(STATUS) & ERR) == 0 ? 0 : in(ERROR) >> 4;
    }

    /** Sends a packet and gives its whole answer. */
    byte[] answer(int... bytes) {
        packet(0xfffe, false, bytes);
        if ((in(STATUS) & DRQ) == 0) {
            return new byte[0];
        }
        return readData(offered());
    }
}
