package org.benchtop.bench.machine;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.regex.Pattern;
import org.benchtop.bench.measure.HostCpu;

/**
 * CPU time of this process so far, in nanoseconds.
 *
 * @param nanoTime when
 * @param processNanos of all threads, those of the JVM included
 * @param vcpuNanos of the vCPU threads of some machines
 * @param loopNanos of their event loops
 */
record CpuTimes(long nanoTime, long processNanos, long vcpuNanos, long loopNanos) {
    /** Reads the clocks now. */
    static CpuTimes now(List<String> machines) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long vcpu = 0;
        long loop = 0;
        for (String machine : machines) {
            Pattern vcpuName = Pattern.compile(Pattern.quote(machine) + "-vcpu\\d+");
            String loopName = "benchtop-loop-" + machine + "-";
            for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
                if (thread == null) {
                    continue;
                }
                long nanos = Math.max(0, threads.getThreadCpuTime(thread.getThreadId()));
                if (vcpuName.matcher(thread.getThreadName()).matches()) {
                    vcpu += nanos;
                } else if (thread.getThreadName().startsWith(loopName)) {
                    loop += nanos;
                }
            }
        }
        long process =
                ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
        return new CpuTimes(System.nanoTime(), process, vcpu, loop);
    }

    /** What was spent since an earlier moment. */
    HostCpu since(CpuTimes earlier) {
        return new HostCpu(
                nanoTime - earlier.nanoTime,
                processNanos - earlier.processNanos,
                vcpuNanos - earlier.vcpuNanos,
                loopNanos - earlier.loopNanos);
    }
}
