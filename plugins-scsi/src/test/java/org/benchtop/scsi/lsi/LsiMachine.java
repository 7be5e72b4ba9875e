package org.benchtop.scsi.lsi;

import java.util.Optional;
import org.benchtop.testkit.FakeDeviceContext;
import org.benchtop.testkit.FakePciFunction;

/** A fake machine with a 53C895A, the driver's side of it, and a target at identifier 2. */
final class LsiMachine {
    static final int TARGET = 2;
    static final int SCRIPT = 0x10000;
    static final long IDENTIFY = 0x20000;
    static final long CDB = 0x20100;
    static final long STATUS = 0x20200;
    static final long MESSAGE = 0x20300;
    static final long TABLE = 0x20400;
    static final long DATA = 0x40000;

    final FakeDeviceContext context = new FakeDeviceContext();
    final Lsi53c895a hba = new Lsi53c895a("scsi0", new LsiOptions(Optional.empty(), Optional.empty()));
    final FakeTarget target = new FakeTarget();

    LsiMachine() {
        hba.attach(context);
        hba.attach(TARGET, target);
        hba.reset();
        context.runPending();
        context.pci().assignResources();
        FakePciFunction function = context.pci().only();
        context.pci().configWrite(0, function.address().devfn(), 4, 2, 7);
        target.managed.clear();
        write(RegisterFile.DIEN, 1, 0xff);
        write(RegisterFile.SIEN0, 2, 0x0487);
    }

    long base(int bar) {
        return context.pci().only().barAddress(bar);
    }

    int read(int register, int size) {
        return (int) context.mmioRead(base(1) + register, size);
    }

    void write(int register, int size, long value) {
        context.mmioWrite(base(1) + register, size, value);
    }

    boolean interrupt() {
        return context.pci().only().intxAsserted();
    }

    Script script() {
        return new Script(SCRIPT);
    }

    /** Puts a script into memory and starts it. */
    LsiMachine run(Script script) {
        context.memory().poke(SCRIPT, script.bytes());
        write(RegisterFile.DSP, 4, SCRIPT);
        context.runPending();
        return this;
    }

    LsiMachine poke(long gpa, int... bytes) {
        byte[] out = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            out[i] = (byte) bytes[i];
        }
        context.memory().poke(gpa, out);
        return this;
    }

    byte[] memory(long gpa, int bytes) {
        return context.memory().bytes(gpa, bytes);
    }

    int word(long gpa) {
        return java.nio.ByteBuffer.wrap(memory(gpa, 4))
                .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                .getInt();
    }

    /** A READ (10) or WRITE (10) at {@link #CDB}. */
    LsiMachine command(int operation, int block, int blocks) {
        return poke(CDB, operation, 0, block >> 24, block >> 16, block >> 8, block, 0, blocks >> 8, blocks, 0);
    }

    /** The beginning of every command: selection, IDENTIFY and other messages, CDB. */
    Script begin(int messageBytes) {
        return script().select(TARGET, 0)
                .move(SpiBus.MSG_OUT, messageBytes, IDENTIFY)
                .move(SpiBus.COMMAND, 10, CDB);
    }

    /** The end of every command: status, COMMAND COMPLETE, bus free, interrupt. */
    static Script end(Script script) {
        return script.move(SpiBus.STATUS, 1, STATUS)
                .move(SpiBus.MSG_IN, 1, MESSAGE)
                .modify(RegisterFile.SCNTL2, 4, 0x7f)
                .clear(Script.ACK | Script.ATN)
                .waitDisconnect()
                .interrupt(0x1234);
    }

    long instructions() {
        return context.stats().value("scripts-instructions");
    }

    int dstat() {
        return read(RegisterFile.DSTAT, 1);
    }

    int sist() {
        return read(RegisterFile.SIST0, 2);
    }
}
