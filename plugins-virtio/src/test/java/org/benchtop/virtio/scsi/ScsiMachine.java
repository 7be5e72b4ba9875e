package org.benchtop.virtio.scsi;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.benchtop.scsi.ScsiDisk;
import org.benchtop.scsi.ScsiHdOptions;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.device.Device;
import org.benchtop.testkit.DeviceGroup;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakeGuestMemory;
import org.benchtop.testkit.HeldBlockBackend;
import org.benchtop.testkit.virtio.FakeVirtQueue;
import org.benchtop.testkit.virtio.FakeVirtQueue.Buffer;
import org.benchtop.testkit.virtio.FakeVirtioDriver;

/** A fake machine with a virtio-scsi-pci adapter, a disk as LUN 0 of target 0, and their driver. */
final class ScsiMachine {
    static final int DISK_BYTES = 1 << 20;
    static final String READY = "00 00 00 00 00 00";

    final FakeDeviceContext context;
    final DeviceGroup group;
    FakeVirtioDriver driver;
    List<FakeVirtQueue> queues = List.of();
    private long nextTag = 1;

    /** A request on its way. */
    final class Request {
        final int head;
        final int queue;
        final long response;
        final long data;
        final int dataBytes;
        final long tag;
        int used = -1;

        Request(int queue, int head, long response, long data, int dataBytes, long tag) {
            this.queue = queue;
            this.head = head;
            this.response = response;
            this.data = data;
            this.dataBytes = dataBytes;
            this.tag = tag;
        }

        boolean done() {
            return used >= 0;
        }

        private byte[] answer(int offset, int length) {
            return driver.heap()
                    .segment(response, offset + length)
                    .asSlice(offset, length)
                    .toArray(ValueLayout.JAVA_BYTE);
        }

        int response() {
            if (!done()) {
                throw new AssertionError("not done");
            }
            return answer(11, 1)[0];
        }

        int status() {
            return answer(10, 1)[0];
        }

        int residual() {
            byte[] b = answer(4, 4);
            return b[0] & 0xff | (b[1] & 0xff) << 8 | (b[2] & 0xff) << 16 | b[3] << 24;
        }

        int sense() {
            byte[] s = answer(12, 18);
            return (s[2] & 0xf) << 16 | (s[12] & 0xff) << 8 | s[13] & 0xff;
        }

        byte[] data() {
            return driver.heap().segment(data, dataBytes).toArray(ValueLayout.JAVA_BYTE);
        }
    }

    private final List<Request> pending = new ArrayList<>();

    private ScsiMachine(FakeDeviceContext context, DeviceGroup group) {
        this.context = context;
        this.group = group;
        group.attach(context);
        group.reset();
        driver = FakeVirtioDriver.of(context);
    }

    static FakeDeviceContext context(BlockBackend backend) {
        return new FakeDeviceContext("machine", FakeGuestMemory.ofSize(16 << 20))
                .drive("disk0", backend)
                .iothread("io0");
    }

    static Device adapter(VirtioScsiPciOptions options, FakeDeviceContext context) {
        return new VirtioScsiPciType().create(options, context.device("hba0"));
    }

    static ScsiMachine stopped(BlockBackend backend, VirtioScsiPciOptions options, ScsiHdOptions disk) {
        FakeDeviceContext context = context(backend);
        return new ScsiMachine(context, DeviceGroup.of(adapter(options, context), new ScsiDisk("disk0", disk)));
    }

    /** With all features, MSI-X, and the attention after power-on taken. */
    static ScsiMachine running(HeldBlockBackend backend) {
        ScsiMachine m = stopped(backend, VirtioScsiPciOptions.defaults(), ScsiHdOptions.of("disk0"));
        m.start(-1L);
        m.command(READY);
        return m;
    }

    static ScsiMachine withPolicy(BlockBackend backend, ErrorPolicy policy) {
        ScsiHdOptions o = ScsiHdOptions.of("disk0");
        return stopped(
                        backend,
                        VirtioScsiPciOptions.defaults(),
                        new ScsiHdOptions(
                                o.drive(),
                                Optional.empty(),
                                Optional.empty(),
                                0,
                                Optional.empty(),
                                o.vendor(),
                                o.product(),
                                o.ver(),
                                Optional.empty(),
                                Optional.empty(),
                                true,
                                false,
                                false,
                                0,
                                Optional.empty(),
                                Optional.empty(),
                                policy,
                                policy,
                                Optional.empty()))
                .start(-1L);
    }

    ScsiMachine start(long features) {
        driver.enableMsix();
        queues = driver.start(features, (int) driver.common(FakeVirtioDriver.NUM_QUEUES, 2), 32);
        context.runPending();
        context.irqs().drainMessages();
        return this;
    }

    static byte[] lun(int target, int lun) {
        return new byte[] {1, (byte) target, (byte) (lun < 256 ? 0 : 0x40 | lun >> 8), (byte) lun, 0, 0, 0, 0};
    }

    long place(byte[] bytes) {
        long gpa = driver.heap().allocate(Math.max(1, bytes.length), 16);
        driver.heap().segment(gpa, bytes.length).copyFrom(java.lang.foreign.MemorySegment.ofArray(bytes));
        return gpa;
    }

    /** A command of 32 bytes of CDB and 96 of sense. */
    Request submit(int queue, byte[] lun, int attribute, String cdb, byte[] out, int inBytes) {
        byte[] request = new byte[19 + 32];
        long tag = nextTag++;
        System.arraycopy(lun, 0, request, 0, 8);
        for (int i = 0; i < 8; i++) {
            request[8 + i] = (byte) (tag >>> 8 * i);
        }
        request[16] = (byte) attribute;
        byte[] raw = HexFormat.ofDelimiter(" ").parseHex(cdb);
        System.arraycopy(raw, 0, request, 19, raw.length);
        long response = driver.heap().allocate(12 + 96, 16);
        driver.heap().segment(response, 108).fill((byte) 0x55);
        List<Buffer> buffers = new ArrayList<>();
        buffers.add(Buffer.readable(place(request), request.length));
        if (out.length > 0) {
            buffers.add(Buffer.readable(place(out), out.length));
        }
        buffers.add(Buffer.writable(response, 108));
        long data = 0;
        if (inBytes > 0) {
            data = driver.heap().allocate(inBytes, 16);
            buffers.add(Buffer.writable(data, inBytes));
        }
        int head = queues.get(queue).add(buffers);
        Request sent = new Request(queue, head, response, data, inBytes, tag);
        pending.add(sent);
        return sent;
    }

    Request tmf(int subtype, byte[] lun, long tag) {
        byte[] request = new byte[24];
        request[4] = (byte) subtype;
        System.arraycopy(lun, 0, request, 8, 8);
        for (int i = 0; i < 8; i++) {
            request[16 + i] = (byte) (tag >>> 8 * i);
        }
        return control(request, 1);
    }

    Request control(byte[] request, int answerBytes) {
        long response = driver.heap().allocate(16, 16);
        driver.heap().segment(response, 16).fill((byte) 0x55);
        int head = queues.get(0)
                .add(List.of(Buffer.readable(place(request), request.length), Buffer.writable(response, answerBytes)));
        Request sent = new Request(0, head, response - 11 + answerBytes - 1, 0, 0, 0);
        pending.add(sent);
        return sent;
    }

    void go() {
        for (FakeVirtQueue queue : queues) {
            queue.kick();
        }
        context.runPending();
        for (int i = 0; i < queues.size(); i++) {
            for (FakeVirtQueue.Used used : queues.get(i).pollAll()) {
                int index = i;
                pending.stream()
                        .filter(r -> r.queue == index && r.head == used.head())
                        .findFirst()
                        .ifPresent(r -> {
                            r.used = used.writtenBytes();
                            pending.remove(r);
                        });
            }
        }
    }

    Request command(String cdb) {
        return command(cdb, new byte[0], 0);
    }

    Request command(String cdb, byte[] out, int inBytes) {
        Request sent = submit(2, lun(0, 0), 0, cdb, out, inBytes);
        go();
        return sent;
    }

    boolean needsReset() {
        return (driver.status() & FakeVirtioDriver.DEVICE_NEEDS_RESET) != 0;
    }

    static byte[] pattern(int length, int seed) {
        byte[] bytes = new byte[length];
        new java.util.Random(seed).nextBytes(bytes);
        return bytes;
    }
}
