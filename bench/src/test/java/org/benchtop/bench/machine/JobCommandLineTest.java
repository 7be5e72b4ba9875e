package org.benchtop.bench.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.benchtop.bench.measure.Job;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.guest.GuestProgramType;
import org.junit.jupiter.api.Test;

class JobCommandLineTest {
    private static final GuestProgramType PROGRAM = new GuestProgramType() {
        @Override
        public String name() {
            return "diskbench";
        }

        @Override
        public String summary() {
            return "a program";
        }

        @Override
        public List<Parameter> parameters() {
            return List.of(
                    new Parameter("rw", "read", "direction"),
                    new Parameter("bs", "4k", "size"),
                    new Parameter("runtime", "1", "seconds"),
                    new Parameter("ramp_time", "0", "seconds"));
        }

        @Override
        public byte[] elf() {
            return new byte[0];
        }
    };

    private static String error(Job job) {
        return assertThrows(BenchtopException.class, () -> JobCommandLine.of(job, PROGRAM))
                .getMessage();
    }

    @Test
    void durationsBecomeSecondsAndTheRestStaysAsWritten() {
        JobCommandLine line = JobCommandLine.of(
                Job.disk()
                        .with("rw", "randread")
                        .with("bs", "16k")
                        .with("runtime", "2m")
                        .with("warmup", "3s"),
                PROGRAM);

        assertEquals("rw=randread bs=16k runtime=120 ramp_time=3", line.words());
        assertEquals(120_000_000_000L, line.runtimeNanos());
        assertEquals(3_000_000_000L, line.warmupNanos());
    }

    @Test
    void withoutDurationsTheProgramsDefaultsHold() {
        JobCommandLine line = JobCommandLine.of(Job.disk(), PROGRAM);

        assertEquals("", line.words());
        assertEquals(1_000_000_000L, line.runtimeNanos());
        assertEquals(0, line.warmupNanos());
    }

    @Test
    void whatTheProgramDoesNotKnowIsRefused() {
        assertEquals(
                "job.rv: unknown parameter \"rv\" of diskbench (did you mean \"rw\"?)",
                error(Job.disk().with("rv", "read")));
        assertEquals(
                "job.ramp_time: unknown parameter \"ramp_time\" of diskbench (known: rw, bs, runtime, warmup)",
                error(Job.disk().with("ramp_time", "1")));
    }

    @Test
    void wordsCannotSmuggleOthers() {
        assertEquals(
                "job.rw: \"read bs=1\" is not one plain word", error(Job.disk().with("rw", "read bs=1")));
        assertEquals("job.rw: \"\" is not one plain word", error(Job.disk().with("rw", "")));
    }

    @Test
    void partsOfSecondsAreRefused() {
        assertEquals(
                "job.runtime: 500ms is not a whole number of seconds, which is what the guest counts",
                error(Job.disk().with("runtime", "500ms")));
    }
}
