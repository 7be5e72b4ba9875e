package org.benchtop.bench.measure;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The result of one run of one case.
 *
 * @param guests at least one, in the order of their numbers
 * @param cpu host CPU time
 * @param accelerator the CPU engine that was used
 * @param facts observations worth a line in the report, by name, such as how the image file was opened
 */
public record Measurement(List<GuestMeasurement> guests, HostCpu cpu, String accelerator, Map<String, String> facts) {
    public Measurement {
        guests = List.copyOf(guests);
        if (guests.isEmpty()) {
            throw new IllegalArgumentException("a measurement needs at least one guest");
        }
        facts = new TreeMap<>(facts);
    }

    /** Completed requests of all guests. */
    public long requests() {
        return guests.stream().mapToLong(GuestMeasurement::requests).sum();
    }

    /** Failed requests of all guests. */
    public long errors() {
        return guests.stream().mapToLong(GuestMeasurement::errors).sum();
    }

    /** The completion latency over all guests. */
    public Latency clat() {
        return merged(guests.stream().map(GuestMeasurement::clat).toList());
    }

    /** The submission latency over all guests. */
    public Latency slat() {
        return merged(guests.stream().map(GuestMeasurement::slat).toList());
    }

    /** Exits by reason over all guests. */
    public Map<String, Long> exits() {
        Map<String, Long> sum = new TreeMap<>();
        for (GuestMeasurement guest : guests) {
            guest.exits().forEach((reason, count) -> sum.merge(reason, count, Long::sum));
        }
        return sum;
    }

    /** The same measurement seen from one guest; host CPU time is not split by guest and stays unknown. */
    public Measurement ofGuest(int number) {
        return new Measurement(List.of(guests.get(number)), HostCpu.UNKNOWN, accelerator, facts);
    }

    private static Latency merged(List<Latency> parts) {
        return parts.size() == 1 ? parts.getFirst() : Latency.merge(new ArrayList<>(parts));
    }
}
