package org.benchtop.engine.asm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * {@code opcodes.txt}, by encoding, map, mandatory prefix and opcode.
 *
 * <p>Columns of the file: the mandatory prefix ({@code .} for any, {@code np} for none of 66, F3 and F2), the opcode
 * with an extension of the ModRM byte ({@code /2}, {@code /.m} and {@code r} for memory and register forms, {@code =c8}
 * for a whole ModRM byte), the mnemonic (variants by operand size separated by {@code |}, by VEX.W by {@code /}), the
 * operands, and flags:
 *
 * <ul>
 *   <li>{@code v2} there is a VEX form with a {@code v} before the name, {@code v3} with one more source, {@code vh} with
 *       one more destination, {@code vm} with one more source if it is about registers; {@code vx} this is a VEX form
 *   <li>{@code ex} this is an EVEX form, the other VEX forms have one too; {@code e:a/b} with these names; {@code ek} with
 *       a mask register as destination
 *   <li>{@code 64}, {@code no64} in 64-bit mode only, or not
 * </ul>
 */
final class OpcodeTable {
    /** How an opcode is encoded. */
    enum Encoding {
        LEGACY,
        VEX,
        EVEX,
    }

    /** Mandatory prefixes. */
    static final int NO_PREFIX = 0;

    static final int PREFIX_66 = 1;
    static final int PREFIX_F3 = 2;
    static final int PREFIX_F2 = 3;
    private static final int ANY_PREFIX = 4;

    private static final int MAPS = 4;

    /**
     * A form of an instruction.
     *
     * @param extension the reg field of ModRM, or -1
     * @param modrm the whole ModRM byte, or -1
     * @param form {@code m} for memory, {@code r} for register, space for both
     */
    record Entry(
            int extension,
            int modrm,
            char form,
            List<String> bySize,
            List<String> byW,
            String[] operands,
            Set<String> flags) {
        boolean matches(int modrmByte, boolean mode64) {
            boolean memory = modrmByte >>> 6 != 3;
            return (modrm < 0 || modrm == modrmByte)
                    && (extension < 0 || extension == (modrmByte >>> 3 & 7))
                    && (form == ' ' || form == 'm' == memory)
                    && !(mode64 ? flags.contains("no64") : flags.contains("64"));
        }

        boolean needsModrm() {
            if (extension >= 0 || modrm >= 0 || form != ' ') {
                return true;
            }
            return Arrays.stream(operands).anyMatch(operand -> "EGMRUVWNPQKCDSHB".indexOf(operand.charAt(0)) >= 0);
        }
    }

    private static final OpcodeTable INSTANCE = load();

    private final Entry[] @Nullable [] entries = new Entry[Encoding.values().length * MAPS * (ANY_PREFIX + 1) * 256][];

    private OpcodeTable() {}

    static OpcodeTable instance() {
        return INSTANCE;
    }

    private static int key(Encoding encoding, int map, int prefix, int opcode) {
        return ((encoding.ordinal() * MAPS + map) * (ANY_PREFIX + 1) + prefix) * 256 + opcode;
    }

    /** Whether an opcode has a ModRM byte; the same for all its forms. */
    boolean hasModrm(Encoding encoding, int map, int opcode) {
        for (int prefix = 0; prefix <= ANY_PREFIX; prefix++) {
            Entry[] found = entries[key(encoding, map, prefix, opcode)];
            if (found != null) {
                for (Entry entry : found) {
                    if (entry.needsModrm()) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /** The form that fits; one for the very prefix before one for any. */
    Optional<Entry> find(Encoding encoding, int map, int prefix, int opcode, int modrm, boolean mode64) {
        Optional<Entry> exact = first(key(encoding, map, prefix, opcode), modrm, mode64);
        return exact.isPresent() ? exact : first(key(encoding, map, ANY_PREFIX, opcode), modrm, mode64);
    }

    /** Whether there is a form for that very prefix, which then is no prefix of its own. */
    boolean isMandatory(Encoding encoding, int map, int prefix, int opcode, int modrm, boolean mode64) {
        return first(key(encoding, map, prefix, opcode), modrm, mode64).isPresent();
    }

    private Optional<Entry> first(int key, int modrm, boolean mode64) {
        Entry[] candidates = entries[key];
        if (candidates == null) {
            return Optional.empty();
        }
        Entry loose = null;
        for (Entry entry : candidates) {
            if (entry.matches(modrm, mode64)) {
                if (entry.extension() >= 0 || entry.modrm() >= 0) {
                    return Optional.of(entry);
                }
                loose = loose == null ? entry : loose;
            }
        }
        return Optional.ofNullable(loose);
    }

    private void add(Encoding encoding, int map, int prefix, int opcode, Entry entry) {
        int key = key(encoding, map, prefix, opcode);
        Entry[] before = entries[key];
        Entry[] after = before == null ? new Entry[1] : Arrays.copyOf(before, before.length + 1);
        after[after.length - 1] = entry;
        entries[key] = after;
    }

    private static OpcodeTable load() {
        OpcodeTable table = new OpcodeTable();
        try (InputStream stream = OpcodeTable.class.getResourceAsStream("opcodes.txt")) {
            if (stream == null) {
                throw new IllegalStateException("opcodes.txt is missing");
            }
            int map = 0;
            for (String line : new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))
                    .lines()
                    .toList()) {
                switch (line) {
                    case "[1]" -> map = 0;
                    case "[0f]" -> map = 1;
                    case "[0f38]" -> map = 2;
                    case "[0f3a]" -> map = 3;
                    default -> {
                        if (!line.isBlank() && !line.startsWith("#")) {
                            table.line(map, line.split(" +"));
                        }
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return table;
    }

    private void line(int map, String[] words) {
        int prefix = switch (words[0]) {
            case "." -> ANY_PREFIX;
            case "np" -> NO_PREFIX;
            case "66" -> PREFIX_66;
            case "f3" -> PREFIX_F3;
            case "f2" -> PREFIX_F2;
            default -> throw new IllegalStateException("prefix " + words[0]);
        };
        String opcodes = words[1].split("[/=]", 2)[0];
        int from = Integer.parseInt(opcodes.substring(0, 2), 16);
        int to = opcodes.length() > 2 ? Integer.parseInt(opcodes.substring(3), 16) : from;
        int extension = -1;
        int modrm = -1;
        char form = ' ';
        if (words[1].contains("=")) {
            modrm = Integer.parseInt(words[1].substring(words[1].indexOf('=') + 1), 16);
        } else if (words[1].contains("/")) {
            String rest = words[1].substring(words[1].indexOf('/') + 1);
            extension = rest.charAt(0) == '.' ? -1 : rest.charAt(0) - '0';
            form = rest.length() > 1 ? rest.charAt(1) : ' ';
        }
        Set<String> flags = new TreeSet<>(Arrays.asList(words).subList(4, words.length));
        String[] operands = words[3].equals("-") ? new String[0] : words[3].split(",");
        for (int opcode = from; opcode <= to; opcode++) {
            forms(map, prefix, opcode, extension, modrm, form, words[2], operands, flags);
        }
    }

    private void forms(
            int map,
            int prefix,
            int opcode,
            int extension,
            int modrm,
            char form,
            String name,
            String[] operands,
            Set<String> flags) {
        if (flags.contains("vx") || flags.contains("ex")) {
            Entry entry = new Entry(extension, modrm, form, List.of(name), byW(name), operands, flags);
            if (flags.contains("vx")) {
                add(Encoding.VEX, map, prefix, opcode, entry);
            }
            add(Encoding.EVEX, map, prefix, opcode, evex(entry));
            return;
        }
        add(
                Encoding.LEGACY,
                map,
                prefix,
                opcode,
                new Entry(extension, modrm, form, List.of(name.split("\\|")), List.of(), operands, flags));
        List<Entry> vex = new ArrayList<>();
        List<String> names = Arrays.stream(name.split("\\|")).map(n -> "v" + n).toList();
        List<String> byW = names.size() == 3 ? List.of(names.get(1), names.get(2)) : names;
        if (flags.contains("v2")) {
            vex.add(new Entry(extension, modrm, form, names, byW, operands, flags));
        } else if (flags.contains("v3")) {
            vex.add(new Entry(extension, modrm, form, names, byW, inserted(operands), flags));
        } else if (flags.contains("vm")) {
            vex.add(new Entry(extension, modrm, 'm', names, byW, operands, flags));
            boolean load = operands[0].startsWith("V");
            vex.add(new Entry(
                    extension,
                    modrm,
                    'r',
                    names,
                    byW,
                    load ? new String[] {"Vo", "Ho", "Uo"} : new String[] {"Uo", "Ho", "Vo"},
                    flags));
        } else if (flags.contains("vh")) {
            vex.add(new Entry(extension, modrm, form, names, byW, new String[] {"Hx", "Wx", operands[1]}, flags));
        }
        for (Entry entry : vex) {
            add(Encoding.VEX, map, prefix, opcode, entry);
            add(Encoding.EVEX, map, prefix, opcode, evex(entry));
        }
    }

    private static List<String> byW(String name) {
        return List.of(name.split("/"));
    }

    private static String[] inserted(String[] operands) {
        String[] all = new String[operands.length + 1];
        all[0] = operands[0];
        all[1] = "H" + operands[0].substring(1);
        System.arraycopy(operands, 1, all, 2, operands.length - 1);
        return all;
    }

    private static Entry evex(Entry entry) {
        List<String> names = entry.flags().stream()
                .filter(flag -> flag.startsWith("e:"))
                .findFirst()
                .map(flag -> byW(flag.substring(2)))
                .orElse(entry.byW());
        String[] operands = entry.operands().clone();
        if (entry.flags().contains("ek")) {
            operands[0] = "Kr";
        }
        return new Entry(entry.extension(), entry.modrm(), entry.form(), names, names, operands, entry.flags());
    }
}
