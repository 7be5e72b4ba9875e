package org.benchtop.engine.asm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Compares with binutils' objdump, instruction by instruction. */
final class Objdump {
    private static final Path PROGRAM = Path.of("/usr/bin/objdump");
    private static final int LOOK_AHEAD = 16;

    private Objdump() {}

    record Line(long address, byte[] bytes, String text) {}

    /** What came out: counts, and how often each kind of difference in text was seen, with an example. */
    record Result(int instructions, int wrongLengths, int sameTexts, Map<String, String> examples) {}

    static boolean isInstalled() {
        return Files.isExecutable(PROGRAM);
    }

    static List<Line> disassemble(int limit, String... arguments) throws IOException, InterruptedException {
        List<String> command =
                new ArrayList<>(List.of(PROGRAM.toString(), "-M", "intel", "-w", "-z", "--insn-width=15"));
        command.addAll(Arrays.asList(arguments));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        List<Line> lines = new ArrayList<>();
        try (BufferedReader reader =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            String line = reader.readLine();
            while (line != null && lines.size() < limit) {
                String[] fields = line.split("\t");
                if (fields.length == 3 && fields[0].endsWith(":")) {
                    lines.add(new Line(
                            Long.parseUnsignedLong(fields[0].strip().replace(":", ""), 16),
                            HexFormat.of().parseHex(fields[1].replace(" ", "")),
                            fields[2]));
                }
                line = reader.readLine();
            }
        }
        process.destroy();
        process.waitFor();
        return lines;
    }

    static Result compare(List<Line> lines, int bits) {
        int wrong = 0;
        int same = 0;
        Map<String, String> examples = new TreeMap<>();
        for (int i = 0; i < lines.size(); i++) {
            Line line = lines.get(i);
            byte[] code = withFollowing(lines, i);
            Instruction ours = Disassembler.decode(code, 0, line.address(), bits);
            String theirs = normal(line.text());
            String own = normal(ours.text());
            if (ours.length() != line.bytes().length) {
                wrong++;
                examples.put("LENGTH " + own.split(" ")[0], describe(line, own));
            } else if (own.equals(theirs)) {
                same++;
            } else {
                examples.putIfAbsent(theirs.split(" ")[0], describe(line, own));
            }
        }
        return new Result(lines.size(), wrong, same, examples);
    }

    private static String describe(Line line, String own) {
        return HexFormat.ofDelimiter(" ").formatHex(line.bytes()) + " | " + normal(line.text()) + " | " + own;
    }

    private static byte[] withFollowing(List<Line> lines, int i) {
        byte[] code = lines.get(i).bytes();
        long next = lines.get(i).address() + code.length;
        for (int j = i + 1;
                j < lines.size() && code.length < LOOK_AHEAD && lines.get(j).address() == next;
                j++) {
            byte[] more = lines.get(j).bytes();
            int at = code.length;
            code = Arrays.copyOf(code, at + more.length);
            System.arraycopy(more, 0, code, at, more.length);
            next += more.length;
        }
        return code;
    }

    /** Without symbols, comments, branch hints' spacing, and with branch targets as we write them. */
    static String normal(String text) {
        String plain = text.replaceAll("\\s+#.*", "")
                .replaceAll("<[^>]*>", "")
                .replaceAll("\\s+", " ")
                .strip();
        int space = plain.lastIndexOf(' ');
        String last = plain.substring(space + 1);
        if (space > 0
                && last.matches("[0-9a-f]+")
                && plain.matches("(.* )?(j[a-z]+|call|loop[a-z]*|xbegin|data16|callw|jmpw)(,p[nt])? [0-9a-f]+")) {
            plain = plain.substring(0, space + 1) + "0x" + last;
        }
        return plain.toLowerCase(Locale.ROOT);
    }
}
