package org.benchtop.guests.compile;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Writes random Java classes that stay within what guests can do.
 *
 * <p>Every fourth method is a leaf; the others call leaves, so no method runs long. Divisors are odd or may be −1, loops
 * count to small constants.
 */
final class RandomJava {
    private static final String[] TYPES = {"int", "long", "int", "long", "byte", "short", "char", "boolean"};
    private static final int MAX_DEPTH = 4;

    private record Variable(String name, String type) {}

    private record Signature(String className, String name, String result, List<String> parameters) {}

    private final Random random;
    private final StringBuilder out = new StringBuilder();
    private final List<Signature> leaves = new ArrayList<>();
    private List<Variable> scope = new ArrayList<>();
    private List<Variable> constants = new ArrayList<>();
    private boolean mayCall;
    private int loopDepth;
    private int names;

    RandomJava(long seed) {
        random = new Random(seed);
    }

    /** A class with {@code count} methods and {@code static long check(int method)} over all of them. */
    String classSource(String className, int count) {
        out.setLength(0);
        List<Signature> own = new ArrayList<>();
        line("public final class " + className + " {");
        List<Variable> fields = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Variable field = new Variable(className + ".f" + i, TYPES[i + 2 < TYPES.length ? i + 2 : i]);
            fields.add(field);
            line("static " + field.type + " f" + i + " = " + literal(field.type) + ";");
        }
        for (int i = 0; i < count; i++) {
            own.add(method(className, "m" + i, i % 4 == 0, fields));
        }
        line("static long check(int method) {");
        line("long h = 17;");
        line("for (int i = 0; i < 12; i++) {");
        line("long a = (method * 12L + i) * 0x9e3779b97f4a7c15L;");
        line("if (i < 4) a = a >> 61;");
        line("if (i == 5) a = Long.MIN_VALUE; if (i == 6) a = Integer.MIN_VALUE;");
        line("long b = a ^ (a << 23) ^ (a >>> 11);");
        line("switch (method) {");
        for (int i = 0; i < count; i++) {
            Signature signature = own.get(i);
            StringBuilder call = new StringBuilder(signature.name + "(");
            for (int p = 0; p < signature.parameters.size(); p++) {
                String argument = (p % 2 == 0 ? "a" : "b") + (p > 1 ? " + " + p + "L * b" : "");
                call.append(p == 0 ? "" : ", ").append(convert(argument, signature.parameters.get(p)));
            }
            call.append(")");
            String value = signature.result.equals("boolean") ? "(" + call + " ? 1 : 0)" : call.toString();
            line("case " + i + " -> h = h * 31 + " + value + ";");
        }
        line("default -> {}");
        line("}");
        line("}");
        for (Variable field : fields) {
            line("h = h * 31 + " + (field.type.equals("boolean") ? "(" + field.name + " ? 1 : 0)" : field.name) + ";");
        }
        line("return h;");
        line("}");
        line("}");
        leaves.addAll(own.stream().filter(each -> own.indexOf(each) % 4 == 0).toList());
        return out.toString();
    }

    private static String convert(String longExpression, String type) {
        return type.equals("boolean")
                ? "((" + longExpression + ") & 4) != 0"
                : "(" + type + ") (" + longExpression + ")";
    }

    private Signature method(String className, String name, boolean leaf, List<Variable> fields) {
        int arity = random.nextInt(leaf ? 5 : 11);
        List<String> parameters = new ArrayList<>();
        scope = new ArrayList<>();
        constants = new ArrayList<>();
        scope.addAll(fields);
        StringBuilder header = new StringBuilder();
        for (int i = 0; i < arity; i++) {
            String type = TYPES[random.nextInt(TYPES.length)];
            parameters.add(type);
            scope.add(new Variable("p" + i, type));
            header.append(i == 0 ? "" : ", ").append(type).append(" p").append(i);
        }
        String result = TYPES[random.nextInt(TYPES.length)];
        line("static " + result + " " + name + "(" + header + ") {");
        mayCall = !leaf && !leaves.isEmpty();
        loopDepth = 0;
        if (random.nextInt(3) == 0) {
            for (int i = 0; i < 22; i++) {
                declare();
            }
        }
        statements(2 + random.nextInt(4), 0);
        line("return " + expression(result, 0) + ";");
        line("}");
        Signature signature = new Signature(className, name, result, parameters);
        if (leaf) {
            leaves.add(signature);
        }
        return signature;
    }

    private void line(String text) {
        out.append(text).append('\n');
    }

    // ---- statements

    private void statements(int count, int depth) {
        int visible = scope.size();
        for (int i = 0; i < count; i++) {
            statement(depth);
        }
        while (scope.size() > visible) {
            scope.removeLast();
        }
    }

    private void declare() {
        String type = TYPES[random.nextInt(TYPES.length)];
        String name = "v" + names++;
        line(type + " " + name + " = " + expression(type, 1) + ";");
        scope.add(new Variable(name, type));
    }

    private void statement(int depth) {
        int kind = random.nextInt(depth > 1 ? 5 : 11);
        switch (kind) {
            case 0, 1 -> declare();
            case 2, 3 -> assign();
            case 4 -> {
                Variable variable = numeric();
                line(variable.name + (random.nextBoolean() ? "++;" : "--;"));
            }
            case 5, 6 -> {
                line("if (" + expression("boolean", 1) + ") {");
                statements(1 + random.nextInt(2), depth + 1);
                if (random.nextBoolean()) {
                    line("} else {");
                    statements(1 + random.nextInt(2), depth + 1);
                }
                line("}");
            }
            case 7 -> forLoop(depth);
            case 8 -> whileLoop(depth);
            case 9 -> switchStatement(depth);
            default -> {
                line("{");
                statements(2, depth + 1);
                line("}");
            }
        }
    }

    private void assign() {
        Variable variable = scope.get(random.nextInt(scope.size()));
        if (variable.type.equals("boolean")) {
            String operator = pick("=", "&=", "|=", "^=");
            line(variable.name + " " + operator + " " + expression("boolean", 1) + ";");
            return;
        }
        switch (random.nextInt(4)) {
            case 0 ->
                line(variable.name + " " + pick("+=", "-=", "*=", "&=", "|=", "^=") + " "
                        + expression(pick("int", "long"), 1) + ";");
            case 1 -> line(variable.name + " " + pick("<<=", ">>=", ">>>=") + " " + expression("int", 2) + ";");
            case 2 -> line(variable.name + " " + pick("/=", "%=") + " " + divisor(pick("int", "long"), 2) + ";");
            default -> line(variable.name + " = " + expression(variable.type, 0) + ";");
        }
    }

    private void forLoop(int depth) {
        String name = "i" + names++;
        int limit = 1 + random.nextInt(6);
        line("for (int " + name + " = 0; " + name + " < " + limit + "; " + name + "++) {");
        constants.add(new Variable(name, "int"));
        loopBody(depth);
        constants.removeLast();
        line("}");
    }

    private void whileLoop(int depth) {
        String name = "w" + names++;
        line("long " + name + " = " + (1 + random.nextInt(6)) + ";");
        boolean tested = random.nextBoolean();
        line(tested ? "while (" + name + "-- > 0 && " + expression("boolean", 2) + ") {" : "do {");
        constants.add(new Variable(name, "long"));
        loopBody(depth);
        constants.removeLast();
        line(tested ? "}" : "} while (--" + name + " > 0);");
    }

    private void loopBody(int depth) {
        loopDepth++;
        boolean called = mayCall;
        mayCall = mayCall && loopDepth < 2;
        statements(1 + random.nextInt(2), depth + 1);
        if (random.nextInt(3) == 0) {
            line("if (" + expression("boolean", 2) + ") { " + pick("break;", "continue;") + " }");
            assign();
        }
        mayCall = called;
        loopDepth--;
    }

    private void switchStatement(int depth) {
        int[] keys = random.nextBoolean()
                ? new int[] {0, 1, 2, 3, 4, 5, 6}
                : new int[] {-100_000, -3, 7, 90, 1000, 77_777, Integer.MAX_VALUE};
        line("switch ((int) (" + expression("long", 2) + (keys[0] == 0 ? ") & 7" : ") % 8") + ") {");
        for (int key : keys) {
            line("case " + key + ":");
            statements(1, depth + 1);
            if (random.nextInt(3) != 0) {
                line("break;");
            }
        }
        if (random.nextBoolean()) {
            line("default:");
            statements(1, depth + 1);
        }
        line("}");
    }

    // ---- expressions

    private String pick(String... choices) {
        return choices[random.nextInt(choices.length)];
    }

    private Variable numeric() {
        List<Variable> candidates =
                scope.stream().filter(each -> !each.type.equals("boolean")).toList();
        return candidates.get(random.nextInt(candidates.size()));
    }

    private String literal(String type) {
        return switch (type) {
            case "boolean" -> pick("true", "false");
            case "byte" -> "(byte) " + (random.nextInt(256) - 128);
            case "short" -> "(short) " + (random.nextInt(65536) - 32768);
            case "char" -> "(char) " + random.nextInt(65536);
            case "int" ->
                switch (random.nextInt(6)) {
                    case 0 -> "Integer.MIN_VALUE";
                    case 1 -> "Integer.MAX_VALUE";
                    case 2 -> "-1";
                    case 3 -> String.valueOf(1 << random.nextInt(31));
                    case 4 -> String.valueOf(random.nextInt(200) - 100);
                    default -> String.valueOf(random.nextInt());
                };
            default ->
                switch (random.nextInt(7)) {
                    case 0 -> "Long.MIN_VALUE";
                    case 1 -> "Long.MAX_VALUE";
                    case 2 -> "-1L";
                    case 3 -> (1L << random.nextInt(63)) + "L";
                    case 4 -> (random.nextInt(200) - 100) + "L";
                    case 5 -> "0xffffffffL";
                    default -> random.nextLong() + "L";
                };
        };
    }

    private String variable(String type) {
        List<Variable> candidates = new ArrayList<>(scope);
        candidates.addAll(constants);
        candidates.removeIf(each -> !each.type.equals(type));
        return candidates.isEmpty() ? literal(type) : candidates.get(random.nextInt(candidates.size())).name;
    }

    private String expression(String type, int depth) {
        if (depth >= MAX_DEPTH || random.nextInt(5) == 0) {
            return random.nextInt(4) == 0 ? literal(type) : variable(type);
        }
        return switch (type) {
            case "boolean" -> condition(depth);
            case "int", "long" -> arithmetic(type, depth);
            default -> "(" + type + ") (" + expression(pick("int", "long"), depth + 1) + ")";
        };
    }

    private String condition(int depth) {
        String operand = pick("int", "long", "int", "long", "byte", "char", "short");
        return switch (random.nextInt(7)) {
            case 0 -> "!(" + expression("boolean", depth + 1) + ")";
            case 1 ->
                "(" + expression("boolean", depth + 1) + pick(" && ", " || ", " ^ ", " & ", " | ", " == ")
                        + expression("boolean", depth + 1) + ")";
            case 2 ->
                "(Long.compareUnsigned(" + expression("long", depth + 1) + ", " + expression("long", depth + 1) + ") "
                        + pick("<", ">=", ">", "<=", "==", "!=") + " 0)";
            default ->
                "(" + expression(operand, depth + 1) + pick(" < ", " <= ", " > ", " >= ", " == ", " != ")
                        + expression(operand, depth + 1) + ")";
        };
    }

    private String divisor(String type, int depth) {
        return random.nextInt(3) == 0
                ? pick("-1", "3", "512", "-7", "1", "1000003", "-65536")
                : "(" + expression(type, depth + 1) + " | 1)";
    }

    private String arithmetic(String type, int depth) {
        boolean wide = type.equals("long");
        return switch (random.nextInt(16)) {
            case 0, 1, 2, 3 ->
                "(" + expression(type, depth + 1) + pick(" + ", " - ", " * ", " + ") + expression(type, depth + 1)
                        + ")";
            case 4, 5 ->
                "(" + expression(type, depth + 1) + pick(" & ", " | ", " ^ ") + expression(type, depth + 1) + ")";
            case 6, 7 ->
                "(" + expression(type, depth + 1) + pick(" << ", " >> ", " >>> ")
                        + (random.nextBoolean() ? String.valueOf(random.nextInt(80)) : expression("int", depth + 1))
                        + ")";
            case 8 -> "(" + expression(type, depth + 1) + pick(" / ", " % ") + divisor(type, depth) + ")";
            case 9 -> pick("-", "~") + "(" + expression(type, depth + 1) + ")";
            case 10 ->
                "(" + expression("boolean", depth + 1) + " ? " + expression(type, depth + 1) + " : "
                        + expression(type, depth + 1) + ")";
            case 11 -> "(" + type + ") (" + expression(pick("int", "long", "byte", "char", "short"), depth + 1) + ")";
            case 12 -> library(wide, depth);
            case 13 -> switchExpression(type, depth);
            case 14 -> {
                Variable variable = numeric();
                yield variable.type.equals(type)
                        ? "(" + pick(variable.name + "++", "--" + variable.name, "++" + variable.name) + " + "
                                + expression(type, depth + 1) + ")"
                        : "((" + type + ") (" + variable.name + " = (" + variable.type + ") ("
                                + expression(type, depth + 1) + ")))";
            }
            default -> mayCall ? call(type, depth) : expression(type, depth + 1);
        };
    }

    private String library(boolean wide, int depth) {
        String box = wide ? "Long" : "Integer";
        String type = wide ? "long" : "int";
        String a = expression(type, depth + 1);
        return switch (random.nextInt(8)) {
            case 0 -> "Math." + pick("min", "max") + "(" + a + ", " + expression(type, depth + 1) + ")";
            case 1 -> box + "." + pick("numberOfLeadingZeros", "numberOfTrailingZeros", "bitCount") + "(" + a + ")";
            case 2 ->
                box + "." + pick("divideUnsigned", "remainderUnsigned") + "(" + a + ", " + divisor(type, depth) + ")";
            case 3 -> box + ".rotateLeft(" + a + ", " + expression("int", depth + 1) + ")";
            case 4 -> box + ".reverseBytes(" + a + ")";
            case 5 ->
                wide
                        ? "Math." + pick("multiplyHigh", "unsignedMultiplyHigh") + "(" + a + ", "
                                + expression("long", depth + 1) + ")"
                        : "Integer.compareUnsigned(" + a + ", " + expression("int", depth + 1) + ")";
            case 6 -> wide ? "Integer.toUnsignedLong(" + expression("int", depth + 1) + ")" : "Math.abs(" + a + ")";
            default ->
                wide
                        ? "(long) Long.compare(" + a + ", " + expression("long", depth + 1) + ")"
                        : "Integer.signum(" + a + ")";
        };
    }

    private String switchExpression(String type, int depth) {
        return "switch (" + expression("int", depth + 1) + " & 3) { case 0 -> " + expression(type, depth + 2)
                + "; case 1 -> " + expression(type, depth + 2) + "; case 3 -> " + expression(type, depth + 2)
                + "; default -> " + expression(type, depth + 2) + "; }";
    }

    private String call(String type, int depth) {
        Signature target = leaves.get(random.nextInt(leaves.size()));
        StringBuilder call = new StringBuilder(target.className + "." + target.name + "(");
        for (int i = 0; i < target.parameters.size(); i++) {
            call.append(i == 0 ? "" : ", ").append(expression(target.parameters.get(i), depth + 2));
        }
        call.append(")");
        return target.result.equals("boolean")
                ? "(" + call + " ? " + expression(type, depth + 2) + " : " + literal(type) + ")"
                : "(" + type + ") " + call;
    }
}
