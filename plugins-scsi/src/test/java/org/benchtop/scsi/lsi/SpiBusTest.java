package org.benchtop.scsi.lsi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import org.benchtop.spi.scsi.ScsiTaskManagement;
import org.benchtop.spi.state.SavedState;
import org.junit.jupiter.api.Test;

/** Commands, messages, disconnection and reselection, as scripts see them. */
final class SpiBusTest {
    private static final int READ = 0x28;
    private static final int WRITE = 0x2a;
    private final LsiMachine m = new LsiMachine();

    private static byte[] bytes(int... values) {
        byte[] out = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            out[i] = (byte) values[i];
        }
        return out;
    }

    private byte[] medium(int block, int blocks) {
        return Arrays.copyOfRange(m.target.medium, block * 512, (block + blocks) * 512);
    }

    /** Read of two blocks into one piece, without the right to disconnect. */
    private Script plainRead() {
        m.poke(LsiMachine.IDENTIFY, 0x80).command(READ, 3, 2);
        return LsiMachine.end(m.begin(1).move(SpiBus.DATA_IN, 1024, LsiMachine.DATA));
    }

    /** A read of two blocks with disconnection; data goes by table-indirect moves. */
    private Script tableRead(int tag) {
        m.poke(LsiMachine.IDENTIFY, 0xc0, 0x20, tag).command(READ, 3, 2);
        m.poke(LsiMachine.TABLE, 0, 2, 0, 0, 0, 0, 4, 0, 0, 2, 0, 0, 0, 0, 5, 0);
        m.write(RegisterFile.DSA, 4, LsiMachine.TABLE);
        Script s = m.begin(3)
                .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                .modify(RegisterFile.SCNTL2, 4, 0x7f)
                .clear(Script.ACK)
                .waitDisconnect()
                .interruptOnTheFly()
                .waitReselect(0)
                .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE + 1)
                .clear(Script.ACK)
                .move(SpiBus.MSG_IN, 2, LsiMachine.MESSAGE + 2)
                .clear(Script.ACK)
                .moveTable(SpiBus.DATA_IN, 0)
                .moveTable(SpiBus.DATA_IN, 8);
        return LsiMachine.end(s);
    }

    @Test
    void readWithoutDisconnectionMovesDataAndStatus() {
        m.poke(LsiMachine.STATUS, 0x55).poke(LsiMachine.MESSAGE, 0x55);

        m.run(plainRead());

        assertEquals(0x1234, m.read(RegisterFile.DSPS, 4));
        assertArrayEquals(medium(3, 2), m.memory(LsiMachine.DATA, 1024));
        assertArrayEquals(bytes(0), m.memory(LsiMachine.STATUS, 1));
        assertArrayEquals(bytes(0), m.memory(LsiMachine.MESSAGE, 1));
        assertEquals(0, m.read(RegisterFile.SCNTL1, 1) & 0x10);
        assertTrue(m.context.memory().wasWritten(LsiMachine.DATA, 1024));
    }

    @Test
    void slowTargetWithoutTheRightToDisconnectKeepsTheBus() {
        m.target.hold = true;

        m.run(plainRead());
        assertFalse(m.interrupt());
        assertEquals(0x10, m.read(RegisterFile.SCNTL1, 1) & 0x10);
        assertEquals(SpiBus.DATA_IN, m.read(RegisterFile.SSTAT1, 1));
        m.target.held.getFirst().complete();
        m.context.runPending();

        assertEquals(0x1234, m.read(RegisterFile.DSPS, 4));
        assertArrayEquals(medium(3, 2), m.memory(LsiMachine.DATA, 1024));
    }

    @Test
    void writeCollectsDataBeforeTheTargetSeesIt() {
        m.poke(LsiMachine.IDENTIFY, 0x80).command(WRITE, 7, 1);
        byte[] data = new byte[512];
        Arrays.fill(data, (byte) 0x5a);
        m.context.memory().poke(LsiMachine.DATA, data);

        m.run(LsiMachine.end(m.begin(1)
                .move(SpiBus.DATA_OUT, 256, LsiMachine.DATA)
                .move(SpiBus.DATA_OUT, 256, LsiMachine.DATA + 256)));

        assertEquals(0x1234, m.read(RegisterFile.DSPS, 4));
        assertArrayEquals(data, medium(7, 1));
        assertEquals(1, m.target.executed);
    }

    @Test
    void indirectBlockMoveTakesItsAddressFromMemory() {
        m.poke(LsiMachine.IDENTIFY, 0x80).command(READ, 1, 1).poke(LsiMachine.TABLE, 0, 0, 4, 0);

        m.run(LsiMachine.end(m.begin(1).moveIndirect(SpiBus.DATA_IN, 512, LsiMachine.TABLE)));

        assertArrayEquals(medium(1, 1), m.memory(LsiMachine.DATA, 512));
    }

    @Test
    void busyTargetDisconnectsAndComesBackWithItsTag() {
        m.target.hold = true;

        m.run(tableRead(0x42));
        assertEquals(0, m.read(RegisterFile.SCNTL1, 1) & 0x10);
        assertArrayEquals(bytes(0x04), m.memory(LsiMachine.MESSAGE, 1));
        m.target.held.getFirst().complete();
        m.context.runPending();

        assertEquals(0x1234, m.read(RegisterFile.DSPS, 4));
        assertArrayEquals(bytes(0x80, 0x20, 0x42), m.memory(LsiMachine.MESSAGE + 1, 3));
        assertEquals(0x82, m.read(RegisterFile.SSID, 1));
        assertArrayEquals(medium(3, 1), m.memory(0x40000, 512));
        assertArrayEquals(medium(4, 1), m.memory(0x50000, 512));
        assertEquals(1, m.context.stats().value("reselections"));
    }

    @Test
    void afterDataOutTheTargetSavesPointersBeforeItDisconnects() {
        m.target.hold = true;
        m.poke(LsiMachine.IDENTIFY, 0xc0).command(WRITE, 7, 1);

        m.run(m.begin(1)
                .move(SpiBus.DATA_OUT, 512, LsiMachine.DATA)
                .move(SpiBus.MSG_IN, 2, LsiMachine.MESSAGE)
                .clear(Script.ACK)
                .waitDisconnect()
                .interrupt(8));

        assertEquals(8, m.read(RegisterFile.DSPS, 4));
        assertArrayEquals(bytes(0x02, 0x04), m.memory(LsiMachine.MESSAGE, 2));
    }

    @Test
    void manyTaggedCommandsAreInFlightAtOnce() {
        m.target.hold = true;
        for (int tag = 0; tag < 8; tag++) {
            m.poke(LsiMachine.IDENTIFY, 0xc0, 0x20, tag).command(READ, tag, 1);
            m.run(m.begin(3)
                    .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                    .clear(Script.ACK)
                    .waitDisconnect()
                    .interrupt(8));
            m.dstat();
        }

        assertEquals(8, m.target.held.size());
        m.target.held.get(5).complete();
        m.run(m.script()
                .waitReselect(0)
                .move(SpiBus.MSG_IN, 3, LsiMachine.MESSAGE)
                .clear(Script.ACK)
                .move(SpiBus.DATA_IN, 512, LsiMachine.DATA)
                .interrupt(9));

        assertArrayEquals(bytes(0x80, 0x20, 5), m.memory(LsiMachine.MESSAGE, 3));
        assertArrayEquals(medium(5, 1), m.memory(LsiMachine.DATA, 512));
        assertEquals(m.memory(LsiMachine.DATA, 512)[511], (byte) m.read(RegisterFile.SIDL, 1));
    }

    @Test
    void overlappedTagIsRefusedAndTheLiveCommandGoesOn() {
        m.target.hold = true;
        m.poke(LsiMachine.IDENTIFY, 0xc0, 0x20, 1).command(READ, 3, 1);
        m.run(m.begin(3)
                .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                .clear(Script.ACK)
                .waitDisconnect()
                .interrupt(8));
        m.dstat();

        m.run(LsiMachine.end(m.begin(3)));

        assertArrayEquals(bytes(2), m.memory(LsiMachine.STATUS, 1));
        assertEquals(1, m.target.held.size());
        assertEquals(1, m.target.executed);
    }

    @Test
    void senseWaitsForRequestSense() {
        m.poke(LsiMachine.IDENTIFY, 0x80).poke(LsiMachine.CDB, FakeTarget.FAILS, 0, 0, 0, 0, 0);
        m.run(LsiMachine.end(m.begin(1)));
        assertArrayEquals(bytes(2), m.memory(LsiMachine.STATUS, 1));
        m.dstat();

        m.poke(LsiMachine.CDB, 0x03, 0, 0, 0, 18, 0);
        m.run(LsiMachine.end(m.begin(1).move(SpiBus.DATA_IN, 18, LsiMachine.DATA)));

        assertArrayEquals(bytes(0), m.memory(LsiMachine.STATUS, 1));
        assertArrayEquals(bytes(0x70, 0, 5), m.memory(LsiMachine.DATA, 3));
        assertEquals(0x20, m.memory(LsiMachine.DATA, 18)[12]);
        assertEquals(1, m.target.executed);
    }

    @Test
    void shortDataPhaseInterruptsWithWhatIsLeft() {
        m.poke(LsiMachine.IDENTIFY, 0x80).command(READ, 3, 1);

        m.run(m.begin(1).move(SpiBus.DATA_IN, 2048, LsiMachine.DATA).interrupt(1));

        assertEquals(ChipInterrupts.SIST_MA, m.sist());
        assertEquals(1536, m.read(RegisterFile.DBC, 4) & 0xff_ffff);
        assertEquals(LsiMachine.DATA + 512, m.read(RegisterFile.DNAD, 4));
        assertEquals(SpiBus.STATUS, m.read(RegisterFile.SSTAT1, 1));
        assertEquals(LsiMachine.SCRIPT + 32, m.read(RegisterFile.DSP, 4));
        // What a driver computes from the FIFO counters of a chip that keeps nothing back.
        int delta = (m.read(RegisterFile.DFIFO, 1) | (m.read(RegisterFile.CTEST5, 1) & 3) << 8) - 1536 & 0x3ff;
        assertEquals(0, delta);
    }

    @Test
    void phaseMismatchJumpsWithUpdatedPointers() {
        int handler = LsiMachine.SCRIPT + 0x200;
        m.context.memory().poke(handler, new Script(handler).interrupt(0x77).bytes());
        m.write(RegisterFile.CCNTL0, 1, 0x80);
        m.write(RegisterFile.PMJAD1, 4, handler);
        m.poke(LsiMachine.IDENTIFY, 0x80).command(READ, 3, 1);

        m.run(m.begin(1).move(SpiBus.DATA_IN, 2048, LsiMachine.DATA).interrupt(1));

        assertEquals(0x77, m.read(RegisterFile.DSPS, 4));
        assertEquals(1536, m.read(RegisterFile.RBC, 4) & 0xff_ffff);
        assertEquals(LsiMachine.DATA + 512, m.read(RegisterFile.UA, 4));
        assertEquals(LsiMachine.SCRIPT + 24, m.read(RegisterFile.IA, 4));
    }

    @Test
    void jumpControlChoosesTheAddressByDirection() {
        int in = LsiMachine.SCRIPT + 0x200;
        m.context.memory().poke(in, new Script(in).interrupt(0x78).bytes());
        m.write(RegisterFile.CCNTL0, 1, 0xc0);
        m.write(RegisterFile.PMJAD2, 4, in);
        m.poke(LsiMachine.IDENTIFY, 0x80).command(READ, 3, 1);

        m.run(m.begin(1).move(SpiBus.DATA_IN, 2048, LsiMachine.DATA));

        assertEquals(0x78, m.read(RegisterFile.DSPS, 4));
    }

    @Test
    void negotiationIsAnsweredOnceAndTheCommandGoesOn() {
        m.poke(LsiMachine.IDENTIFY, 0x80, 1, 2, 3, 1).command(READ, 3, 1);
        Script s = m.script()
                .select(LsiMachine.TARGET, 0)
                .move(SpiBus.MSG_OUT, 5, LsiMachine.IDENTIFY)
                .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                .clear(Script.ACK)
                .move(SpiBus.MSG_IN, 3, LsiMachine.MESSAGE + 1)
                .clear(Script.ACK)
                .move(SpiBus.COMMAND, 10, LsiMachine.CDB)
                .move(SpiBus.DATA_IN, 512, LsiMachine.DATA)
                .interrupt(0x66);

        m.run(s);

        assertEquals(0x66, m.read(RegisterFile.DSPS, 4));
        assertArrayEquals(bytes(1, 2, 3, 1), m.memory(LsiMachine.MESSAGE, 4));
        assertArrayEquals(medium(3, 1), m.memory(LsiMachine.DATA, 512));
        assertEquals(1, m.context.stats().value("negotiations"));
    }

    @Test
    void synchronousAndParallelProtocolRequestsAreAgreedWithinTheLimits() {
        m.poke(LsiMachine.IDENTIFY, 0x80, 1, 3, 1, 9, 62);
        m.run(m.script()
                .select(LsiMachine.TARGET, 0)
                .move(SpiBus.MSG_OUT, 6, LsiMachine.IDENTIFY)
                .move(SpiBus.MSG_IN, 5, LsiMachine.MESSAGE)
                .interrupt(1));
        assertArrayEquals(bytes(1, 3, 1, 10, 31), m.memory(LsiMachine.MESSAGE, 5));
        m.dstat();
        m.write(RegisterFile.SCNTL1, 1, 8);
        m.write(RegisterFile.SCNTL1, 1, 0);
        m.sist();

        m.poke(LsiMachine.IDENTIFY, 0x80, 1, 6, 4, 10, 0, 31, 1, 2);
        m.run(m.script()
                .select(LsiMachine.TARGET, 0)
                .move(SpiBus.MSG_OUT, 9, LsiMachine.IDENTIFY)
                .move(SpiBus.MSG_IN, 8, LsiMachine.MESSAGE)
                .interrupt(1));
        assertArrayEquals(bytes(1, 6, 4, 10, 0, 31, 1, 0), m.memory(LsiMachine.MESSAGE, 8));
    }

    @Test
    void unknownMessageIsRejected() {
        m.poke(LsiMachine.IDENTIFY, 0x80, 0x13);

        m.run(m.script()
                .select(LsiMachine.TARGET, 0)
                .move(SpiBus.MSG_OUT, 2, LsiMachine.IDENTIFY)
                .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                .clear(Script.ACK)
                .move(SpiBus.COMMAND, 10, LsiMachine.CDB)
                .interrupt(1));

        assertArrayEquals(bytes(7), m.memory(LsiMachine.MESSAGE, 1));
        assertEquals(1, m.read(RegisterFile.DSPS, 4));
    }

    @Test
    void attentionMakesTheTargetAskForAMessage() {
        m.poke(LsiMachine.IDENTIFY, 0x80, 0x08).command(READ, 3, 1);

        m.run(m.begin(1)
                .set(Script.ATN)
                .move(SpiBus.DATA_IN, 512, LsiMachine.DATA)
                .move(SpiBus.MSG_OUT, 1, LsiMachine.IDENTIFY + 1)
                .move(SpiBus.STATUS, 1, LsiMachine.STATUS)
                .interrupt(6));

        assertEquals(6, m.read(RegisterFile.DSPS, 4));
    }

    /** CVE-2024-6519: a message must not cancel what is being worked on. */
    @Test
    void abortedCommandIsNeitherAnsweredNorFreedWhileTheTargetWorksOnIt() {
        m.target.hold = true;
        m.poke(LsiMachine.IDENTIFY, 0xc0, 0x20, 1).command(READ, 3, 1);
        m.run(m.begin(3)
                .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                .clear(Script.ACK)
                .waitDisconnect()
                .interrupt(8));
        m.dstat();

        m.poke(LsiMachine.IDENTIFY, 0xc0, 0x20, 1, 0x0d);
        m.run(m.script()
                .select(LsiMachine.TARGET, 0)
                .modify(RegisterFile.SCNTL2, 4, 0x7f)
                .move(SpiBus.MSG_OUT, 4, LsiMachine.IDENTIFY)
                .clear(Script.ACK | Script.ATN)
                .waitDisconnect()
                .interrupt(9));

        assertEquals(9, m.read(RegisterFile.DSPS, 4));
        assertEquals(List.of(ScsiTaskManagement.ABORT_TASK), m.target.managed);
        assertEquals(0, m.target.held.size());
        assertEquals(0, m.hba.inspect().get("tasks"));
    }

    @Test
    void disconnectionThatTheDriverDoesNotExpectIsReported() {
        m.poke(LsiMachine.IDENTIFY, 0x80, 0x0c);

        m.run(m.script()
                .select(LsiMachine.TARGET, 0)
                .move(SpiBus.MSG_OUT, 2, LsiMachine.IDENTIFY)
                .interrupt(1));

        assertEquals(ChipInterrupts.SIST_UDC, m.sist());
        assertEquals(List.of(ScsiTaskManagement.TARGET_RESET), m.target.managed);
    }

    @Test
    void busResetAbortsEverythingAndCommandsWaitForIt() {
        m.target.hold = true;
        m.run(tableRead(1));
        assertEquals(1, m.target.held.size());
        m.write(RegisterFile.ISTAT0, 1, 4);

        m.write(RegisterFile.SCNTL1, 1, 8);
        m.context.runPending();
        m.write(RegisterFile.SCNTL1, 1, 0);

        assertEquals(List.of(ScsiTaskManagement.BUS_RESET), m.target.managed);
        assertEquals(0, m.target.held.size());
        assertEquals(ChipInterrupts.SIST_RST, m.sist());
        m.target.hold = false;
        m.run(plainRead());
        assertEquals(0x1234, m.read(RegisterFile.DSPS, 4));
    }

    @Test
    void completionAfterChipResetIsForgotten() {
        m.target.hold = true;
        m.run(tableRead(1));
        FakeTarget.Held held = m.target.held.getFirst();

        m.write(RegisterFile.ISTAT0, 1, 0x40);
        m.write(RegisterFile.ISTAT0, 1, 0);
        held.complete();
        m.context.runPending();

        assertEquals(0, m.hba.inspect().get("tasks"));
        assertEquals(0, m.read(RegisterFile.ISTAT1, 1));
    }

    @Test
    void tooManyCommandsAreAnsweredWithTaskSetFull() {
        m.target.hold = true;
        for (int i = 0; i <= SpiBus.MAX_TASKS; i++) {
            m.poke(LsiMachine.IDENTIFY, 0xc0 | i / 256, 0x20, i).command(READ, 0, 1);
            m.run(m.begin(3)
                    .jumpWhen(true, SpiBus.STATUS, LsiMachine.SCRIPT + 0x100)
                    .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                    .clear(Script.ACK)
                    .waitDisconnect()
                    .interrupt(8));
            if (i < SpiBus.MAX_TASKS) {
                m.dstat();
            }
        }
        Script full = new Script(LsiMachine.SCRIPT + 0x100);
        m.context
                .memory()
                .poke(
                        LsiMachine.SCRIPT + 0x100,
                        full.move(SpiBus.STATUS, 1, LsiMachine.STATUS)
                                .interrupt(5)
                                .bytes());
        m.write(RegisterFile.DSP, 4, LsiMachine.SCRIPT + 0x100);
        m.context.runPending();

        assertArrayEquals(bytes(0x28), m.memory(LsiMachine.STATUS, 1));
        assertEquals(SpiBus.MAX_TASKS, m.target.held.size());
    }

    @Test
    void hugeTransferIsRefused() {
        byte[] none = new byte[0];
        m.poke(LsiMachine.IDENTIFY, 0x80).command(READ, 0, 0xffff);

        m.run(LsiMachine.end(m.begin(1)));

        assertArrayEquals(bytes(2), m.memory(LsiMachine.STATUS, 1));
        assertEquals(0, m.target.executed);
        assertArrayEquals(none, m.memory(LsiMachine.DATA, 0));
    }

    @Test
    void parkedCommandIsExecutedAgainWhenTheMachineGoesOn() {
        m.target.parks = true;
        m.run(tableRead(1));
        m.hba.pause();
        m.target.parks = false;

        m.hba.resume();
        m.context.runPending();

        assertEquals(2, m.target.executed);
        assertEquals(0x1234, m.read(RegisterFile.DSPS, 4));
        assertArrayEquals(medium(3, 1), m.memory(0x40000, 512));
    }

    /** Saved between disconnection and reselection, restored into another machine with the same memory and medium. */
    @Test
    void stateInMidScriptGoesOnInAnotherMachine() {
        m.target.hold = true;
        m.run(tableRead(0x42));
        m.context.eventLoop().execute(() -> m.target.held.getFirst().complete());
        m.hba.pause();
        assertFalse(m.read(RegisterFile.DSPS, 4) == 0x1234, "the script has gone on while the machine was paused");
        SavedState saved = m.hba.saveState();

        LsiMachine other = new LsiMachine();
        other.hba.pause();
        other.hba.restoreState(saved);
        other.context.memory().poke(LsiMachine.SCRIPT, m.memory(LsiMachine.SCRIPT, 4096));
        other.context.memory().poke(LsiMachine.TABLE, m.memory(LsiMachine.TABLE, 64));
        other.hba.resume();
        other.context.runPending();

        assertEquals(0x1234, other.read(RegisterFile.DSPS, 4));
        assertArrayEquals(medium(4, 1), other.memory(0x50000, 512));
    }

    @Test
    void detachedTargetIsAbsent() {
        m.hba.detach(LsiMachine.TARGET);

        m.run(plainRead());

        assertEquals(ChipInterrupts.SIST_STO, m.sist());
    }

    @Test
    void firmwareScriptWithoutAttentionAndAcknowledgeWorks() {
        m.poke(LsiMachine.IDENTIFY, 0x80).command(READ, 3, 1);
        int data = LsiMachine.SCRIPT + 7 * 8;
        Script s = m.script();
        s.raw(0x4002_0000, 0)
                .move(SpiBus.MSG_OUT, 1, LsiMachine.IDENTIFY)
                .move(SpiBus.COMMAND, 16, LsiMachine.CDB)
                .raw(0x8782_0000, 0x18)
                .move(SpiBus.MSG_IN, 2, LsiMachine.MESSAGE)
                .waitReselect(0)
                .move(SpiBus.MSG_IN, 2, LsiMachine.MESSAGE);
        assertEquals(data, s.here());
        s.move(SpiBus.DATA_IN, 512, LsiMachine.DATA)
                .move(SpiBus.STATUS, 1, LsiMachine.STATUS)
                .move(SpiBus.MSG_IN, 1, LsiMachine.MESSAGE)
                .interrupt(0);

        m.write(RegisterFile.ISTAT0, 1, 0x40);

        for (int i = 0; i < 3; i++) {
            m.run(s);
            assertEquals(0x84, m.dstat());
            assertEquals(0, m.sist());
        }

        assertArrayEquals(medium(3, 1), m.memory(LsiMachine.DATA, 512));
    }
}
