package org.benchtop.scsi.lsi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Instructions of the SCRIPTS processor that need no target. */
final class ScriptsProcessorTest {
    private static final int SIR = ChipInterrupts.DSTAT_SIR;
    private final LsiMachine m = new LsiMachine();

    @Test
    void interruptInstructionStopsWithItsVector() {
        m.run(m.script().interrupt(0xcafe));

        assertTrue(m.interrupt());
        assertEquals(0xcafe, m.read(RegisterFile.DSPS, 4));
        assertEquals(0x01, m.read(RegisterFile.ISTAT0, 1) & 0x03);
        assertEquals(0x80 | SIR, m.dstat());
        assertEquals(0x80, m.dstat());
        assertFalse(m.interrupt());
    }

    @Test
    void byteWritesToDspStartOnTheLastOne() {
        m.context.memory().poke(LsiMachine.SCRIPT, m.script().interrupt(7).bytes());
        for (int i = 0; i < 3; i++) {
            m.write(RegisterFile.DSP + i, 1, LsiMachine.SCRIPT >> 8 * i & 0xff);
            assertFalse(m.interrupt());
        }

        m.write(RegisterFile.DSP + 3, 1, 0);
        m.context.runPending();

        assertTrue(m.interrupt());
    }

    @Test
    void manualStartWaitsForStartBit() {
        m.write(RegisterFile.DMODE, 1, 1);
        m.run(m.script().interrupt(7));
        assertFalse(m.interrupt());

        m.write(RegisterFile.DCNTL, 1, 4);
        m.context.runPending();

        assertTrue(m.interrupt());
    }

    @Test
    void singleStepStopsAfterEveryInstruction() {
        m.write(RegisterFile.DCNTL, 1, 0x10);
        Script s = m.script();
        s.set(0).interrupt(1);

        m.run(s);

        assertEquals(0x80 | ChipInterrupts.DSTAT_SSI, m.dstat());
        assertEquals(LsiMachine.SCRIPT + 8, m.read(RegisterFile.DSP, 4));
    }

    @Test
    void loadAndStoreMoveRegistersAbsoluteAndRelative() {
        m.poke(LsiMachine.DATA, 0x11, 0x22, 0x33, 0x44);
        m.write(RegisterFile.DSA, 4, LsiMachine.DATA + 0x100);

        m.run(m.script()
                .loadRelative(RegisterFile.SCRATCHA, 4, -0x100)
                .store(RegisterFile.SCRATCHA, 2, LsiMachine.DATA + 8)
                .interrupt(0));

        assertEquals(0x44332211, m.read(RegisterFile.SCRATCHA, 4));
        assertArrayEquals(new byte[] {0x11, 0x22, 0}, m.memory(LsiMachine.DATA + 8, 3));
    }

    @Test
    void additionWithCarryGoesThroughBytes() {
        m.write(RegisterFile.SCRATCHA, 4, 0x00ff_ffff);

        m.run(m.script()
                .modify(RegisterFile.SCRATCHA, 6, 1)
                .modify(RegisterFile.SCRATCHA + 1, 7, 0)
                .modify(RegisterFile.SCRATCHA + 2, 7, 0)
                .modify(RegisterFile.SCRATCHA + 3, 7, 0)
                .interrupt(0));

        assertEquals(0x0100_0000, m.read(RegisterFile.SCRATCHA, 4));
    }

    @Test
    void shiftsMoveCarryInAndOut() {
        m.write(RegisterFile.SCRATCHA, 1, 0x81);
        m.write(RegisterFile.SCRATCHA + 1, 1, 0x01);

        m.run(m.script()
                .clear(Script.CARRY)
                .modify(RegisterFile.SCRATCHA, 1, 0)
                .modify(RegisterFile.SCRATCHA + 1, 1, 0)
                .modify(RegisterFile.SCRATCHA + 1, 5, 0)
                .modify(RegisterFile.SCRATCHA + 1, 5, 0)
                .interrupt(0));

        assertEquals(0x02, m.read(RegisterFile.SCRATCHA, 1));
        assertEquals(0x80, m.read(RegisterFile.SCRATCHA + 1, 1));
    }

    @Test
    void dataCompareUsesMaskAndCallReturns() {
        Script s = m.script();
        int routine = LsiMachine.SCRIPT + 0x100;
        s.raw(0x7000_0000 | RegisterFile.SCRATCHA << 16 | 2 << 24, 0)
                .call(routine)
                .interrupt(5);
        Script sub = new Script(routine);
        sub.jumpIfByte(0x40, 0xf0, routine + 16)
                .interrupt(99)
                .modify(RegisterFile.SCRATCHB, 0, 0x77)
                .returns();
        m.context.memory().poke(routine, sub.bytes());
        m.write(RegisterFile.SCRATCHA, 1, 0x4f);

        m.run(s);

        assertEquals(5, m.read(RegisterFile.DSPS, 4));
        assertEquals(0x77, m.read(RegisterFile.SCRATCHB, 1));
    }

    @Test
    void conditionIsFalseWhenOneComparisonDisagrees() {
        Script s = m.script();
        // JUMP if carry and byte equal: the carry is clear.
        s.clear(Script.CARRY)
                .raw(0x802c_0000, LsiMachine.SCRIPT + 24)
                .interrupt(1)
                .interrupt(2);

        m.run(s);

        assertEquals(1, m.read(RegisterFile.DSPS, 4));
    }

    @Test
    void relativeJumpCountsFromTheNextInstruction() {
        m.run(m.script().raw(0x8088_0000, 8).interrupt(1).interrupt(2));

        assertEquals(2, m.read(RegisterFile.DSPS, 4));
    }

    @Test
    void memoryMoveCopies() {
        m.poke(LsiMachine.DATA, 1, 2, 3, 4, 5, 6, 7, 8);

        m.run(m.script()
                .raw(0xc000_0008, (int) LsiMachine.DATA, (int) LsiMachine.DATA + 64)
                .interrupt(3));

        assertArrayEquals(new byte[] {1, 2, 3, 4, 5, 6, 7, 8}, m.memory(LsiMachine.DATA + 64, 8));
        assertEquals(3, m.read(RegisterFile.DSPS, 4));
    }

    @Test
    void memoryMoveOfDifferentAlignmentIsIllegal() {
        m.run(m.script()
                .raw(0xc000_0008, (int) LsiMachine.DATA, (int) LsiMachine.DATA + 65)
                .interrupt(3));

        assertEquals(0x80 | ChipInterrupts.DSTAT_IID, m.dstat());
    }

    @Test
    void scriptRunsInOnChipRam() {
        int ram = (int) m.base(2);
        byte[] script = new Script(ram)
                .raw(0xc000_0004, ram + 0x100, (int) LsiMachine.DATA)
                .load(RegisterFile.SCRATCHA, 4, ram + 0x100)
                .interrupt(9)
                .bytes();
        for (int i = 0; i < script.length; i++) {
            m.context.mmioWrite(m.base(2) + i, 1, script[i]);
        }
        m.context.mmioWrite(m.base(2) + 0x100, 4, 0x5566_7788);

        m.write(RegisterFile.DSP, 4, m.base(2));
        m.context.runPending();

        assertEquals(9, m.read(RegisterFile.DSPS, 4));
        assertEquals(0x5566_7788, m.read(RegisterFile.SCRATCHA, 4));
        assertEquals(0x5566_7788, m.word(LsiMachine.DATA));
    }

    /** CVE-2023-0330: a script that lets the chip write its own registers over the bus. */
    @Test
    void dmaIntoOwnRegistersIsABusFault() {
        int registers = (int) m.base(1);
        m.poke(LsiMachine.DATA, 0x40, 0x40, 0x40, 0x40);

        m.run(m.script()
                .raw(0xc000_0004, (int) LsiMachine.DATA, registers + RegisterFile.ISTAT0)
                .interrupt(3));

        assertEquals(0x80 | ChipInterrupts.DSTAT_BF, m.dstat());
    }

    @Test
    void scriptOutsideOfMemoryIsABusFault() {
        m.write(RegisterFile.DSP, 4, 0xf000_0000L);
        m.context.runPending();

        assertEquals(0x80 | ChipInterrupts.DSTAT_BF, m.dstat());
        assertTrue((m.read(RegisterFile.ISTAT1, 1) & 2) == 0);
    }

    @Test
    void withoutBusMasteringNothingRuns() {
        m.context.pci().configWrite(0, m.context.pci().only().address().devfn(), 4, 2, 3);

        m.run(m.script().interrupt(1));

        assertEquals(0x80 | ChipInterrupts.DSTAT_BF, m.dstat());
    }

    /** CVE-2019-12068: a script that never ends. */
    @Test
    void endlessScriptLetsOthersRunAndCanBeAborted() {
        m.run(m.script().jump(LsiMachine.SCRIPT));

        for (int i = 0; i < 5; i++) {
            m.context.advance(1_000_000);
            assertEquals(2, m.read(RegisterFile.ISTAT1, 1) & 2);
        }
        long before = m.instructions();
        m.context.runPending();
        assertEquals(before, m.instructions(), "a script that spins has to wait for the timer");

        m.write(RegisterFile.ISTAT0, 1, 0x80);
        assertEquals(0x80 | ChipInterrupts.DSTAT_ABRT, m.dstat());
        assertEquals(0, m.read(RegisterFile.ISTAT1, 1) & 2);
    }

    @Test
    void endlessMemoryMovesAreBoundedPerTurn() {
        Script s = m.script();
        s.raw(0xc0ff_fff0, 0, 0x10_0000).jump(LsiMachine.SCRIPT);

        org.junit.jupiter.api.Assertions.assertTimeoutPreemptively(java.time.Duration.ofSeconds(60), () -> m.run(s));
    }

    @Test
    void softResetStopsTheScriptAndClearsRegisters() {
        m.run(m.script().jump(LsiMachine.SCRIPT));

        m.write(RegisterFile.ISTAT0, 1, 0x40);
        m.write(RegisterFile.ISTAT0, 1, 0);

        assertEquals(0, m.read(RegisterFile.ISTAT1, 1));
        assertEquals(0, m.read(RegisterFile.DSP, 4));
        assertEquals(0xc0, m.read(RegisterFile.SCNTL0, 1));
    }

    @Test
    void semaphoreAndMailboxesKeepWhatIsWritten() {
        m.write(RegisterFile.ISTAT0, 1, 0x10);
        m.write(RegisterFile.MBOX0, 2, 0x1234);

        assertEquals(0x10, m.read(RegisterFile.ISTAT0, 1));
        assertEquals(0x1234, m.read(RegisterFile.MBOX0, 2));
    }

    @Test
    void interruptOnTheFlyLetsTheScriptGoOn() {
        m.run(m.script()
                .interruptOnTheFly()
                .modify(RegisterFile.SCRATCHA, 0, 0x55)
                .waitReselect(0));

        assertEquals(0x55, m.read(RegisterFile.SCRATCHA, 1));
        assertTrue(m.interrupt());
        assertEquals(0x04, m.read(RegisterFile.ISTAT0, 1) & 0x07);
        m.write(RegisterFile.ISTAT0, 1, 0x04);
        assertFalse(m.interrupt());
    }

    @Test
    void signalProcessEndsTheWaitForReselection() {
        Script s = m.script();
        s.waitReselect(LsiMachine.SCRIPT + 16).interrupt(1).raw(0x7000_0000 | 2 << 24 | RegisterFile.CTEST2 << 16, 0);
        s.interrupt(2);
        m.run(s);
        assertFalse(m.interrupt());

        m.write(RegisterFile.ISTAT0, 1, 0x20);
        m.context.runPending();

        assertEquals(2, m.read(RegisterFile.DSPS, 4));
        assertEquals(0x40, m.read(RegisterFile.SFBR, 1) & 0x40);
        assertEquals(0, m.read(RegisterFile.ISTAT0, 1) & 0x20);
    }

    @Test
    void signalProcessBeforeTheWaitIsNotLost() {
        m.write(RegisterFile.ISTAT0, 1, 0x20);

        m.run(m.script().waitReselect(LsiMachine.SCRIPT + 16).interrupt(1).interrupt(2));

        assertEquals(2, m.read(RegisterFile.DSPS, 4));
    }

    @Test
    void absentTargetTimesOutAtTheNextInstructionThatNeedsTheBus() {
        Script s = m.script();
        s.select(5, 0)
                .modify(RegisterFile.SCRATCHA, 0, 1)
                .jumpWhen(false, SpiBus.MSG_OUT, 0)
                .interrupt(1);

        m.run(s);

        assertEquals(1, m.read(RegisterFile.SCRATCHA, 1));
        assertEquals(ChipInterrupts.SIST_STO, m.sist());
        assertEquals(LsiMachine.SCRIPT + 24, m.read(RegisterFile.DSP, 4));
        assertEquals(0x80, m.dstat());
    }

    @Test
    void conditionsOfOneCoreAreStacked() {
        m.write(RegisterFile.SCNTL1, 1, 0x08);
        m.write(RegisterFile.SCNTL1, 1, 0x00);
        m.run(m.script().select(5, 0).interrupt(1));

        assertEquals(ChipInterrupts.SIST_RST, m.sist());
        assertEquals(ChipInterrupts.SIST_STO, m.sist());
        assertEquals(0, m.sist());
    }

    @Test
    void maskedFatalConditionStopsButDoesNotInterrupt() {
        m.write(RegisterFile.DIEN, 1, 0);

        m.run(m.script().interrupt(1));

        assertFalse(m.interrupt());
        assertEquals(1, m.read(RegisterFile.ISTAT0, 1) & 1);
        assertEquals(0, m.read(RegisterFile.ISTAT1, 1) & 2);
    }

    @Test
    void generalPurposeTimerSetsItsCondition() {
        m.write(RegisterFile.SIEN1, 1, 2);
        m.write(RegisterFile.STIME1, 1, 8);
        m.context.advance(31_000_000);
        assertEquals(0, m.sist());

        m.context.advance(2_000_000);

        assertEquals(ChipInterrupts.SIST_GEN, m.sist());
    }

    @Test
    void busResetIsSeenWhileItLasts() {
        m.write(RegisterFile.SCNTL1, 1, 0x08);

        assertEquals(2, m.read(RegisterFile.SSTAT0, 1) & 3);
        assertEquals(0, m.read(RegisterFile.SBCL, 1));
        m.write(RegisterFile.SCNTL1, 1, 0);
        assertEquals(0, m.read(RegisterFile.SSTAT0, 1) & 3);
        assertEquals(ChipInterrupts.SIST_RST, m.sist());
    }

    @Test
    void illegalLoadIsReported() {
        m.run(m.script().load(RegisterFile.SCRATCHA, 7, LsiMachine.DATA));

        assertEquals(0x80 | ChipInterrupts.DSTAT_IID, m.dstat());
    }

    @Test
    void emptyInstructionIsSkippedAndZeroCountIsIllegal() {
        m.run(m.script().raw(0, 0).interrupt(4));
        assertEquals(4, m.read(RegisterFile.DSPS, 4));
        m.dstat();

        m.run(m.script().move(SpiBus.DATA_IN, 0, LsiMachine.DATA));
        assertEquals(0x80 | ChipInterrupts.DSTAT_IID, m.dstat());
    }
}
