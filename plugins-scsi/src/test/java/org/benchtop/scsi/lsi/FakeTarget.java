package org.benchtop.scsi.lsi;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.scsi.ScsiCompletion;
import org.benchtop.spi.scsi.ScsiPort;
import org.benchtop.spi.scsi.ScsiTarget;
import org.benchtop.spi.scsi.ScsiTaskManagement;

/**
 * A target with 1 MiB of blocks of 512 bytes that knows TEST UNIT READY, REQUEST SENSE, READ (10), WRITE (10) and a command
 * that fails (opcode FF). It holds commands while {@link #hold} is set.
 */
final class FakeTarget implements ScsiTarget {
    static final int BLOCK = 512;
    private static final int READ_10 = 0x28;
    private static final int WRITE_10 = 0x2a;
    static final int FAILS = 0x1f;

    final byte[] medium = new byte[1 << 20];
    final List<Held> held = new ArrayList<>();
    final List<String> seen = new ArrayList<>();
    final List<ScsiTaskManagement> managed = new ArrayList<>();
    boolean hold;
    boolean parks;
    int executed;

    FakeTarget() {
        for (int i = 0; i < medium.length; i++) {
            medium[i] = (byte) (i / BLOCK * 7 + i);
        }
    }

    /** A command that waits. */
    final class Held {
        final ScsiCommand command;
        final ScsiCompletion completion;

        Held(ScsiCommand command, ScsiCompletion completion) {
            this.command = command;
            this.completion = completion;
        }

        void complete() {
            held.remove(this);
            carryOut(command);
            completion.completed(command);
        }
    }

    private static int block(byte[] cdb) {
        return (cdb[2] & 0xff) << 24 | (cdb[3] & 0xff) << 16 | (cdb[4] & 0xff) << 8 | cdb[5] & 0xff;
    }

    private static long bytes(byte[] cdb) {
        return ((cdb[7] & 0xffL) << 8 | cdb[8] & 0xffL) * BLOCK;
    }

    private void carryOut(ScsiCommand command) {
        byte[] cdb = command.cdb();
        var memory = java.lang.foreign.MemorySegment.ofArray(medium);
        long at = (long) block(cdb) * BLOCK;
        switch (command.operation()) {
            case READ_10 -> {
                command.dataIn().copyFrom(0, memory, at, bytes(cdb));
                command.complete(ScsiCommand.GOOD, 0, bytes(cdb));
            }
            case WRITE_10 -> {
                command.dataOut().copyTo(0, memory, at, bytes(cdb));
                command.complete(ScsiCommand.GOOD, 0, bytes(cdb));
            }
            case FAILS -> {
                command.sense()[0] = 0x70;
                command.sense()[2] = 5;
                command.sense()[12] = 0x20;
                command.complete(ScsiCommand.CHECK_CONDITION, 18, 0);
            }
            default -> command.complete(ScsiCommand.GOOD, 0, 0);
        }
    }

    @Override
    public ScsiPort open(EventLoop loop) {
        return new ScsiPort() {
            @Override
            public void prepare(ScsiCommand command) {
                seen.add(command.toString());
                switch (command.operation()) {
                    case READ_10 -> command.expect(ScsiCommand.Direction.IN, bytes(command.cdb()), true);
                    case WRITE_10 -> command.expect(ScsiCommand.Direction.OUT, bytes(command.cdb()), true);
                    default -> command.expect(ScsiCommand.Direction.NONE, 0, false);
                }
            }

            @Override
            public void execute(ScsiCommand command, ScsiCompletion completion) {
                executed++;
                if (parks) {
                    command.giveBack(ScsiCommand.Outcome.PARKED);
                    completion.completed(command);
                } else if (hold) {
                    held.add(new Held(command, completion));
                } else {
                    carryOut(command);
                    completion.completed(command);
                }
            }

            @Override
            public void kick() {}

            @Override
            public void manage(ScsiTaskManagement function, int lun, long tag, int initiator, Done done) {
                managed.add(function);
                for (Held waiting : List.copyOf(held)) {
                    boolean meant = function != ScsiTaskManagement.ABORT_TASK || waiting.command.tag() == tag;
                    if (meant) {
                        held.remove(waiting);
                        waiting.command.giveBack(ScsiCommand.Outcome.ABORTED);
                        waiting.completion.completed(waiting.command);
                    }
                }
                done.done(ScsiTaskManagement.Result.COMPLETE);
            }

            @Override
            public void drain() {}

            @Override
            public void close() {}
        };
    }

    @Override
    public List<Integer> luns() {
        return List.of(0);
    }
}
