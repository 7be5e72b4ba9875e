package org.benchtop.bench.run;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What else the host did during a run. Shares are of all CPUs: 1 means every CPU was busy all the time.
 *
 * @param elapsedNanos how long was watched
 * @param cpus how many CPUs the host has
 * @param busyShare all processes, this one included
 * @param ownShare this process
 * @param otherShare the rest, kernel threads and interrupts included
 * @param stealShare time that the hypervisor below gave to others
 * @param ioWaitShare idle while waiting for disks
 * @param loadAverage the one-minute load average at the end
 * @param others CPUs used by the busiest other processes, such as {@code java(812): 0.75}
 */
public record HostLoad(
        long elapsedNanos,
        int cpus,
        double busyShare,
        double ownShare,
        double otherShare,
        double stealShare,
        double ioWaitShare,
        double loadAverage,
        Map<String, Double> others) {
    /** Above this share of all CPUs other processes disturb a run. */
    public static final double DISTURBING_OTHER_SHARE = 0.05;

    /** Above this share of all CPUs stolen time disturbs a run. */
    public static final double DISTURBING_STEAL_SHARE = 0.01;

    /** Nothing was watched. */
    public static final HostLoad NONE = new HostLoad(0, 1, 0, 0, 0, 0, 0, 0, Map.of());

    public HostLoad {
        others = Map.copyOf(others);
    }

    /** Why figures of this run may be wrong; empty when the host was quiet. */
    public List<String> disturbances() {
        List<String> found = new ArrayList<>();
        if (otherShare > DISTURBING_OTHER_SHARE) {
            StringBuilder text =
                    new StringBuilder("other processes used " + percent(otherShare) + " of the host's CPUs");
            others.entrySet().stream()
                    .sorted(Map.Entry.<String, Double>comparingByValue().reversed())
                    .limit(1)
                    .forEach(other -> text.append(", most of it ")
                            .append(other.getKey())
                            .append(String.format(Locale.ROOT, " with %.2f CPUs", other.getValue())));
            found.add(text.toString());
        }
        if (stealShare > DISTURBING_STEAL_SHARE) {
            found.add("the hypervisor below took " + percent(stealShare) + " of the host's CPUs");
        }
        return found;
    }

    private static String percent(double share) {
        return String.format(Locale.ROOT, share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
    }
}
