package org.benchtop.scsi.target;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.benchtop.spi.block.BlockBackend;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorHandling;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.benchtop.testkit.FakeEventLoop;
import org.benchtop.testkit.FakeStats;
import org.benchtop.testkit.HeldBlockBackend;
import org.jspecify.annotations.Nullable;

/** A target with one disk as LUN 0, and who sends it commands. */
final class Initiator {
    static final int DISK_BYTES = 1 << 20;

    final FakeEventLoop loop;
    final Target target;
    private final @Nullable DiskUnit diskUnit;
    final ScsiPort port;
    /** What the unit under construction calls when it stops the machine. */
    private static final ThreadLocal<List<String>> PAUSES = ThreadLocal.withInitial(ArrayList::new);

    final List<String> pauses;
    private long nextTag = 1;

    /** A command that was sent. */
    static final class Sent {
        final ScsiCommand command = new ScsiCommand();
        final MemorySegment in;
        int completions;

        Sent(int inBytes) {
            in = Arena.ofAuto().allocate(Math.max(1, inBytes));
        }

        boolean done() {
            return completions == 1;
        }

        int status() {
            if (completions != 1) {
                throw new AssertionError("completed " + completions + " times");
            }
            if (command.outcome() != ScsiCommand.Outcome.DONE) {
                throw new AssertionError(command.outcome());
            }
            return command.status();
        }

        /** key << 16 | ASC << 8 | ASCQ. */
        int sense() {
            byte[] s = command.sense();
            return command.senseLength() == 0 ? 0 : (s[2] & 0xf) << 16 | (s[12] & 0xff) << 8 | s[13] & 0xff;
        }

        byte[] data() {
            return in.asSlice(0, command.transferredBytes()).toArray(ValueLayout.JAVA_BYTE);
        }
    }

    Initiator(BlockBackend backend, DiskOptions options) {
        this(new FakeEventLoop(), backend, options, ErrorPolicy.REPORT, ErrorPolicy.REPORT);
    }

    Initiator(FakeEventLoop loop, BlockBackend backend, DiskOptions options, ErrorPolicy rerror, ErrorPolicy werror) {
        this(
                loop,
                new DiskUnit(
                        "disk0",
                        options,
                        backend,
                        new ErrorHandling("disk0", backend, rerror, werror, PAUSES.get()::add),
                        new FakeStats()));
        disk().powerOn();
    }

    /** Any logical unit as LUN 0. */
    Initiator(FakeEventLoop loop, LogicalUnit unit) {
        this.loop = loop;
        pauses = PAUSES.get();
        PAUSES.remove();
        target = new Target("target0");
        target.add(0, unit);
        diskUnit = unit instanceof DiskUnit disk ? disk : null;
        port = target.open(loop);
    }

    DiskUnit disk() {
        return java.util.Objects.requireNonNull(diskUnit);
    }

    /** A usual disk that completes everything at once, whose power-on attention is taken already. */
    static Initiator ready(HeldBlockBackend backend) {
        Initiator initiator = new Initiator(backend.automatic(), options());
        initiator.send("00 00 00 00 00 00");
        return initiator;
    }

    static DiskOptions options() {
        return new DiskOptions("SER1", "VENDOR", "PRODUCT", "1.0", 0, 1, true, true, false, false, 512, 4096);
    }

    Sent send(String cdb) {
        return send(0, cdb, 65536, null, ScsiCommand.Attribute.SIMPLE, 0);
    }

    Sent read(String cdb, int inBytes) {
        return send(0, cdb, inBytes, null, ScsiCommand.Attribute.SIMPLE, 0);
    }

    Sent write(String cdb, byte[] out) {
        return send(0, cdb, 0, out, ScsiCommand.Attribute.SIMPLE, 0);
    }

    Sent as(int initiator, String cdb, byte @Nullable [] out) {
        return send(0, cdb, 4096, out, ScsiCommand.Attribute.SIMPLE, initiator);
    }

    Sent ordered(String cdb, ScsiCommand.Attribute attribute) {
        return send(0, cdb, 65536, null, attribute, 0);
    }

    Sent send(int lun, String cdb, int inBytes, byte @Nullable [] out, ScsiCommand.Attribute attribute, int initiator) {
        Sent sent = new Sent(inBytes);
        ScsiCommand command = sent.command.begin(lun, nextTag++);
        command.initiator(initiator);
        command.attribute(attribute);
        byte[] bytes = HexFormat.ofDelimiter(" ").parseHex(cdb);
        System.arraycopy(bytes, 0, command.cdb(), 0, bytes.length);
        command.cdbLength(bytes.length);
        if (inBytes > 0) {
            command.dataIn().add(sent.in, 0, inBytes);
        }
        if (out != null && out.length > 0) {
            MemorySegment copy = Arena.ofAuto().allocate(out.length);
            copy.copyFrom(MemorySegment.ofArray(out));
            command.dataOut().add(copy, 0, out.length);
        }
        loop.call(() -> {
            port.execute(command, done -> sent.completions++);
            port.kick();
        });
        loop.runPending();
        return sent;
    }

    /** Task management; the list gets the result when it is done. */
    List<ScsiTaskManagement.Result> manage(ScsiTaskManagement function, long tag) {
        List<ScsiTaskManagement.Result> results = new ArrayList<>();
        loop.call(() -> port.manage(function, 0, tag, 0, results::add));
        loop.runPending();
        return results;
    }

    static void complete(HeldBlockBackend.Held held, FakeEventLoop loop) {
        held.complete();
        loop.runPending();
    }

    static void fail(HeldBlockBackend.Held held, BlockStatus status, FakeEventLoop loop) {
        held.fail(status);
        loop.runPending();
    }

    static byte[] pattern(int length, int seed) {
        byte[] bytes = new byte[length];
        new java.util.Random(seed).nextBytes(bytes);
        return bytes;
    }
}
