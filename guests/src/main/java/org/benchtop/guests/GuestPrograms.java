package org.benchtop.guests;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.guest.GuestProgramType.Parameter;

/** The guest programs that come with Benchtop. */
public final class GuestPrograms {
    private static final String PACKAGE = "org.benchtop.guests.programs.";

    private static final List<Parameter> DISK = List.of(
            new Parameter("disk", "0", "the n-th disk in PCI order"),
            new Parameter("poll", "0", "1: look for completions in a loop, with interrupts suppressed"),
            new Parameter("event_idx", "1", "use event indices if the device offers them"),
            new Parameter("pio", "0", "move data by the CPU instead of DMA, where the disk can do both"),
            new Parameter("indirect", "0", "use indirect descriptors if the device offers them"),
            new Parameter("offset", "0", "first byte used, a multiple of 4 KiB"),
            new Parameter("size", "rest of the disk", "bytes used from there on"),
            new Parameter("seed", "1", "seed of data and random offsets"));

    private static final List<GuestProgram> ALL = List.of(
            new GuestProgram(
                    "hello",
                    "prints a greeting, the command line and the clock rate",
                    PACKAGE + "Hello",
                    List.of(
                            new Parameter("code", "0", "exit code, 0 to 125"),
                            new Parameter("smp", "0", "1: start all CPUs and print their number"))),
            new GuestProgram(
                    "cpuburn",
                    "keeps CPUs busy and reports loop passes per second",
                    PACKAGE + "CpuBurn",
                    List.of(
                            new Parameter("seconds", "1", "how long"),
                            new Parameter("loops", "0", "if not 0: loop passes per CPU instead of seconds"),
                            new Parameter("cpus", "1", "how many CPUs take part"))),
            new GuestProgram(
                    "diskcheck",
                    "writes a pattern over a disk, reads it back and compares, then measures random reads",
                    PACKAGE + "DiskCheck",
                    withDisk(
                            new Parameter("iodepth", "16", "requests in flight"),
                            new Parameter("seconds", "1", "length of the timed reads, 0: none"))),
            new GuestProgram(
                    "diskbench",
                    "measures a disk: read, write or mixed, sequential or random, any block size and depth",
                    PACKAGE + "DiskBench",
                    withDisk(
                            new Parameter("rw", "randread", "read, write, randread, randwrite, rw or randrw"),
                            new Parameter("rwmixread", "50", "percent of reads for rw and randrw"),
                            new Parameter("bs", "4k", "block size, up to 1 MiB"),
                            new Parameter("iodepth", "1", "requests in flight per job, up to 256"),
                            new Parameter("runtime", "1", "seconds measured, 0: until ios= is reached"),
                            new Parameter("ramp_time", "0", "seconds before that which do not count"),
                            new Parameter("ios", "0", "if not 0: requests after which a job ends"),
                            new Parameter("fsync", "0", "flush after that many writes, 0: never"),
                            new Parameter("numjobs", "1", "jobs, each on its own CPU and queue"))));

    private GuestPrograms() {}

    private static List<Parameter> withDisk(Parameter... own) {
        List<Parameter> all = new ArrayList<>(DISK);
        all.addAll(List.of(own));
        return all;
    }

    /** All programs. */
    public static List<GuestProgram> list() {
        return ALL;
    }

    /**
     * The program of that name.
     *
     * @throws BenchtopException CONFIG, listing the known names, if there is none
     */
    public static GuestProgram byName(String name) {
        return ALL.stream()
                .filter(program -> program.name().equals(name))
                .findFirst()
                .orElseThrow(() -> BenchtopException.config("unknown guest program \"" + name + "\" (known: "
                        + ALL.stream().map(GuestProgram::name).collect(Collectors.joining(", ")) + ")"));
    }

    /** The ELF file of a program. */
    public static byte[] elf(String name) {
        return byName(name).elf();
    }
}
