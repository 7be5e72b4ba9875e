package org.benchtop.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostLoadMeterTest {
    @TempDir
    Path proc;

    private void stat(long user, long system, long idle, long ioWait, long steal) throws IOException {
        Files.writeString(
                proc.resolve("stat"),
                "cpu  " + user + " 0 " + system + " " + idle + " " + ioWait + " 0 0 " + steal + " 0 0\n"
                        + "cpu0 1 0 1 1 0 0 0 0 0 0\ncpu1 1 0 1 1 0 0 0 0 0 0\nintr 1\n");
        Files.writeString(proc.resolve("loadavg"), "0.75 0.5 0.2 1/100 999\n");
    }

    private void process(long pid, String name, long user, long system, long start) throws IOException {
        Files.createDirectories(proc.resolve(Long.toString(pid)));
        Files.writeString(
                proc.resolve(pid + "/stat"),
                pid + " (" + name + ") S 1 1 1 0 -1 0 0 0 0 0 " + user + " " + system + " 0 0 20 0 1 0 " + start
                        + " 0 0\n");
    }

    @Test
    void othersAndStolenTimeAreToldFromOwn() throws IOException {
        stat(1000, 100, 5000, 10, 0);
        process(10, "java", 500, 50, 7);
        process(20, "make (all)", 100, 0, 8);
        HostLoadMeter meter = HostLoadMeter.start(proc, 10);

        // 400 ticks of 2 CPUs: 2 s. Own 100, make 60, others 20, steal 20, I/O wait 40, the rest idle.
        stat(1160, 120, 5160, 50, 20);
        process(10, "java", 590, 60, 7);
        process(20, "make (all)", 150, 10, 8);
        HostLoad load = meter.stop();

        assertEquals(2, load.cpus());
        assertEquals(180 / 400.0, load.busyShare(), 1e-9);
        assertEquals(100 / 400.0, load.ownShare(), 1e-9);
        assertEquals(80 / 400.0, load.otherShare(), 1e-9);
        assertEquals(20 / 400.0, load.stealShare(), 1e-9);
        assertEquals(40 / 400.0, load.ioWaitShare(), 1e-9);
        assertEquals(0.75, load.loadAverage());
        assertEquals(Map.of("make (all)(20)", 0.3), load.others());
        assertEquals(
                List.of(
                        "other processes used 20 % of the host's CPUs, most of it make (all)(20) with 0.30 CPUs",
                        "the hypervisor below took 5.0 % of the host's CPUs"),
                load.disturbances());
    }

    @Test
    void aProcessWithAReusedNumberStartsFromNothing() throws IOException {
        stat(1000, 100, 5000, 0, 0);
        process(20, "old", 90_000, 0, 8);
        HostLoadMeter meter = HostLoadMeter.start(proc, 10);

        stat(1100, 100, 5100, 0, 0);
        process(20, "new", 50, 0, 99);

        assertEquals(Map.of("new(20)", 0.5), meter.stop().others());
    }

    @Test
    void aQuietHostDisturbsNothing() throws IOException {
        stat(1000, 100, 5000, 0, 0);
        process(10, "java", 500, 50, 7);
        HostLoadMeter meter = HostLoadMeter.start(proc, 10);

        stat(1098, 102, 5300, 0, 0);
        process(10, "java", 595, 52, 7);

        assertEquals(List.of(), meter.stop().disturbances());
    }

    @Test
    void withoutProcNothingIsKnown() {
        HostLoadMeter meter = HostLoadMeter.start(proc.resolve("missing"), 10);

        assertEquals(HostLoad.NONE, meter.stop());
    }

    @Test
    void thisHostCanBeWatched() {
        HostLoad load = HostLoadMeter.start().stop();

        assertTrue(load.cpus() >= 1);
        assertTrue(load.busyShare() >= 0 && load.busyShare() <= 1, load.toString());
    }
}
