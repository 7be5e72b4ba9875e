package org.benchtop.shell.lab;

import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.benchtop.engine.asm.Disassembler;
import org.benchtop.spi.cpu.InstructionCount;

/**
 * How often each instruction was executed.
 *
 * @param machine its name
 * @param byMnemonic executions, the most frequent first
 */
public record InstructionMix(String machine, Map<String, Long> byMnemonic) {
    private static final int SHOWN = 30;

    public InstructionMix {
        byMnemonic = Collections.unmodifiableMap(new LinkedHashMap<>(byMnemonic));
    }

    static InstructionMix of(String machine, List<InstructionCount> counts) {
        Map<String, Long> sums = new TreeMap<>();
        for (InstructionCount count : counts) {
            String mnemonic =
                    Disassembler.decode(count.example(), 0, 0, count.bits()).mnemonic();
            sums.merge(mnemonic, count.count(), Long::sum);
        }
        Map<String, Long> sorted = new LinkedHashMap<>();
        sums.entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
                .forEach(e -> sorted.put(e.getKey(), e.getValue()));
        return new InstructionMix(machine, sorted);
    }

    /** Executions of all instructions. */
    public long total() {
        return byMnemonic.values().stream().mapToLong(Long::longValue).sum();
    }

    @Override
    public String toString() {
        long total = total();
        TextColumns columns = new TextColumns("lrr");
        byMnemonic.entrySet().stream().limit(SHOWN).forEach(e -> {
            String share = String.format(Locale.ROOT, "%.1f %%", 100.0 * e.getValue() / total);
            columns.row(e.getKey(), e.getValue(), share);
        });
        return machine + ": " + total + " instructions\n" + columns.render("  ");
    }
}
