package org.benchtop.shell.lab;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.device.Register;

/**
 * A device at one moment.
 *
 * @param id its name in the machine
 * @param type its plugin type
 * @param places ports, addresses and PCI functions that it answers at
 * @param tables its register tables
 * @param state other live state, as the device names it
 * @param counters its counters and gauges
 */
public record DeviceView(
        String id,
        String type,
        List<String> places,
        List<Table> tables,
        Map<String, Object> state,
        Map<String, Long> counters) {
    public DeviceView {
        places = List.copyOf(places);
        tables = List.copyOf(tables);
        state = Collections.unmodifiableMap(new LinkedHashMap<>(state));
        counters = Collections.unmodifiableMap(new LinkedHashMap<>(counters));
    }

    /**
     * A register table.
     *
     * @param registers by offset
     */
    public record Table(String name, List<Value> registers) {
        public Table {
            registers = List.copyOf(registers);
        }
    }

    /**
     * A register.
     *
     * @param sizeBytes 1, 2, 4 or 8
     * @param value read without side effects
     * @param spec the specification's section
     */
    public record Value(
            String name, int offset, int sizeBytes, long value, long resetValue, Register.Access access, String spec) {
        /** Whether it differs from its value after reset. */
        public boolean changed() {
            return value != resetValue;
        }

        /** The value with all digits. */
        public String hex() {
            return Hex.padded(value, 2 * sizeBytes);
        }
    }

    /**
     * The value of a register by name, in any case.
     *
     * @throws BenchtopException of kind CONFIG if there is none of that name
     */
    public long register(String name) {
        return tables.stream()
                .flatMap(table -> table.registers().stream())
                .filter(r -> r.name().equalsIgnoreCase(name))
                .findFirst()
                .orElseThrow(() -> BenchtopException.config("device " + id + " has no register \"" + name + "\""))
                .value();
    }

    /** Everything; a star marks registers that differ from their value after reset. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(id).append(" (").append(type).append(")\n");
        places.forEach(place -> text.append("  ").append(place).append('\n'));
        for (Table table : tables) {
            text.append("  ").append(table.name()).append('\n');
            TextColumns rows = new TextColumns("llll");
            for (Value r : table.registers()) {
                String access = switch (r.access()) {
                    case READ_ONLY -> "ro";
                    case WRITE_ONLY -> "wo";
                    case READ_WRITE -> "rw";
                };
                rows.row(
                        String.format(Locale.ROOT, "+%03x", r.offset()),
                        (r.changed() ? "*" : " ") + r.name(),
                        r.hex(),
                        access + "  " + r.spec());
            }
            text.append(rows.render("    "));
        }
        TextColumns rows = new TextColumns("ll");
        state.forEach((name, value) -> {
            if (!QueueState.isQueues(value)) {
                rows.row(name, shown(value));
            }
        });
        text.append(rows.render("  "));
        TextColumns numbers = new TextColumns("lr");
        counters.forEach((name, value) -> {
            if (value != 0) {
                numbers.row(name, String.format(Locale.ROOT, "%,d", value));
            }
        });
        return text.append(numbers.render("  ")).toString().stripTrailing();
    }

    private static String shown(Object value) {
        return switch (value) {
            case Long number -> number > 9 || number < 0 ? number + " (" + Hex.of(number) + ")" : number.toString();
            case Integer number ->
                number > 9 || number < 0 ? number + " (0x" + Integer.toHexString(number) + ")" : number.toString();
            default -> String.valueOf(value).replace("\n", "\\n");
        };
    }
}
