package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.benchtop.spi.bus.AddressSpace;

/**
 * Why vCPUs left guest mode.
 *
 * @param machine its name
 * @param byReason exits of all vCPUs since the machine was made, by the engine's reason
 * @param byAddress accesses to ports and registers since then, the most frequent first
 * @param elsewhere accesses that no longer had room in the table
 */
public record ExitHistogram(String machine, Map<String, Long> byReason, List<Address> byAddress, long elsewhere) {
    private static final int SHOWN = 20;
    private static final int BAR = 30;

    public ExitHistogram {
        byReason = java.util.Collections.unmodifiableMap(new TreeMap<>(byReason));
        byAddress = List.copyOf(byAddress);
    }

    /**
     * Accesses to one address.
     *
     * @param write whether they were writes
     * @param device the id of who answers there now; empty for nobody
     */
    public record Address(AddressSpace space, boolean write, long address, String device, long count) {
        /** {@code out 0x3f8} or {@code mmio-read 0xfebc0000}. */
        public String access() {
            String kind = switch (space) {
                case PIO -> write ? "out" : "in";
                case MMIO -> write ? "mmio-write" : "mmio-read";
            };
            return kind + " " + Hex.of(address);
        }
    }

    /** Exits of all reasons. */
    public long total() {
        return byReason.values().stream().mapToLong(Long::longValue).sum();
    }

    /** What has happened since an earlier histogram of the same machine. */
    public ExitHistogram since(ExitHistogram earlier) {
        Map<String, Long> reasons = new TreeMap<>();
        byReason.forEach((reason, count) -> {
            long difference = count - earlier.byReason.getOrDefault(reason, 0L);
            if (difference != 0) {
                reasons.put(reason, difference);
            }
        });
        List<Address> addresses = new ArrayList<>();
        for (Address now : byAddress) {
            long before = earlier.byAddress.stream()
                    .filter(a -> a.space() == now.space() && a.write() == now.write() && a.address() == now.address())
                    .mapToLong(Address::count)
                    .sum();
            if (now.count() != before) {
                addresses.add(new Address(now.space(), now.write(), now.address(), now.device(), now.count() - before));
            }
        }
        addresses.sort(Comparator.comparingLong(Address::count).reversed());
        return new ExitHistogram(machine, reasons, addresses, elsewhere - earlier.elsewhere);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(String.format(Locale.ROOT, "%s: %,d exits%n", machine, total()));
        long most = byReason.values().stream().mapToLong(Long::longValue).max().orElse(1);
        TextColumns reasons = new TextColumns("lrl");
        byReason.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .forEach(e -> reasons.row(
                        e.getKey(), String.format(Locale.ROOT, "%,d", e.getValue()), bar(e.getValue(), most)));
        text.append(reasons.render("  "));
        long mostAccesses = byAddress.isEmpty() ? 1 : byAddress.getFirst().count();
        TextColumns addresses = new TextColumns("llrl");
        byAddress.stream()
                .limit(SHOWN)
                .forEach(a -> addresses.row(
                        a.access(),
                        a.device(),
                        String.format(Locale.ROOT, "%,d", a.count()),
                        bar(a.count(), mostAccesses)));
        text.append(addresses.render("  "));
        if (byAddress.size() > SHOWN) {
            text.append("  … and ").append(byAddress.size() - SHOWN).append(" more addresses\n");
        }
        return text.toString().stripTrailing();
    }

    private static String bar(long value, long most) {
        return "▇".repeat((int) Math.max(1, Math.min(BAR, value * BAR / Math.max(1, most))));
    }
}
