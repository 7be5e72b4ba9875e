package org.benchtop.xen;

/** The driver of a Xen disk, one queue with one ring page: what xen-blkfront does, and whatever else a test wants. */
final class FakeBlkfront {
    static final int ENTRY = 112;

    final XenMachine machine;
    final String path;
    final String back;
    long ring;
    int port;
    int ringReference;
    private int produced;
    private int consumed;

    FakeBlkfront(XenMachine machine, int number) {
        this.machine = machine;
        this.path = "/local/domain/1/device/vbd/" + number;
        this.back = "/local/domain/0/backend/vbd/1/" + number;
    }

    String backState() {
        return machine.store().read(back + "/state").orElse("");
    }

    void state(int state) {
        machine.store().write(path + "/state", Integer.toString(state));
        machine.context.runPending();
    }

    void write(String name, String value) {
        machine.store().write(path + "/" + name, value);
    }

    /** Makes a ring and a port and writes them. */
    void prepare() {
        ring = machine.page();
        machine.putBytes(ring, new byte[4096]);
        machine.putInt(ring + 4, 1);
        machine.putInt(ring + 12, 1);
        produced = 0;
        consumed = 0;
        ringReference = machine.grant(ring, false);
        port = machine.allocatePort();
        write("ring-ref", Integer.toString(ringReference));
        write("event-channel", Integer.toString(port));
        write("protocol", "x86_64-abi");
    }

    FakeBlkfront connect() {
        prepare();
        state(3);
        state(4);
        return this;
    }

    /** Where the next request goes. */
    long next() {
        return ring + 64 + (long) (produced & 31) * ENTRY;
    }

    /** Shows the request that was written at {@link #next}. */
    void produce() {
        produced++;
        machine.putInt(ring, produced);
    }

    void kick() {
        machine.send(port);
    }

    /** Writes a direct request with one segment for each reference. */
    void direct(int operation, long id, long sector, int first, int last, int... references) {
        long at = next();
        machine.putByte(at, operation);
        machine.putByte(at + 1, references.length);
        machine.putLong(at + 8, id);
        machine.putLong(at + 16, sector);
        for (int i = 0; i < references.length; i++) {
            segment(at + 24 + 8L * i, references[i], first, last);
        }
        produce();
    }

    void segment(long at, int reference, int first, int last) {
        machine.putInt(at, reference);
        machine.putByte(at + 4, first);
        machine.putByte(at + 5, last);
    }

    int responses() {
        return machine.getInt(ring + 8) - consumed;
    }

    /** The next response as id, operation and status. */
    String response() {
        if (responses() == 0) {
            throw new AssertionError("no response");
        }
        long at = ring + 64 + (long) (consumed & 31) * ENTRY;
        consumed++;
        machine.putInt(ring + 12, consumed + 1);
        return machine.getLong(at) + " " + machine.getBytes(at + 8, 1)[0] + " " + (short) machine.getShort(at + 10);
    }
}
