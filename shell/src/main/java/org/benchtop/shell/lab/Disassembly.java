package org.benchtop.shell.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.benchtop.engine.asm.Instruction;
import org.benchtop.guests.GuestImage;
import org.benchtop.shell.jshell.SnippetNames;

/**
 * Disassembled code.
 *
 * @param bits the mode that it was decoded for: 16, 32 or 64
 * @param lines by address
 */
public record Disassembly(int bits, List<Line> lines) {
    private static final int BYTES_SHOWN = 10;

    public Disassembly {
        lines = List.copyOf(lines);
    }

    /**
     * An instruction.
     *
     * @param current whether a vCPU stands there
     * @param source the method and line that it was compiled from; empty if that is not known or did not change
     */
    public record Line(Instruction instruction, boolean current, String source) {}

    static Disassembly of(List<Instruction> code, int bits, OptionalLong current, Optional<GuestImage> image) {
        List<Line> lines = new ArrayList<>();
        String before = "";
        for (Instruction instruction : code) {
            String source = image.flatMap(i -> i.lineOf(instruction.address()))
                    .map(line -> SnippetNames.plain(line.method()) + (line.line() > 0 ? ":" + line.line() : ""))
                    .orElse("");
            lines.add(new Line(
                    instruction,
                    current.isPresent() && current.getAsLong() == instruction.address(),
                    source.equals(before) ? "" : source));
            before = source;
        }
        return new Disassembly(bits, lines);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Line line : lines) {
            if (!line.source().isEmpty()) {
                text.append(line.source()).append(":\n");
            }
            Instruction i = line.instruction();
            StringBuilder bytes = new StringBuilder();
            for (int b = 0; b < i.bytes().length; b++) {
                bytes.append(Hex.padded(i.bytes()[b] & 0xff, 2)).append(' ');
            }
            text.append(String.format(
                            Locale.ROOT,
                            "%s %s  %-" + 3 * BYTES_SHOWN + "s %-7s%s",
                            line.current() ? "=>" : "  ",
                            Hex.address(i.address()),
                            bytes,
                            i.mnemonic(),
                            i.operands().isEmpty() ? "" : " " + i.operands())
                    .stripTrailing());
            text.append('\n');
        }
        return text.toString().stripTrailing();
    }
}
