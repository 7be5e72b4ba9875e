package org.benchtop.engine.config;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes and durations as people write them. */
public final class Units {
    private static final Pattern NUMBER = Pattern.compile("(\\d{1,19}(?:\\.\\d{1,9})?) ?([a-zA-Zµ]*)");
    private static final Pattern WHOLE = Pattern.compile("[+-]?(?:0[xX][0-9a-fA-F]{1,16}|\\d{1,19})");
    private static final String PREFIXES = "kmgtpe";
    private static final List<String> BINARY_NAMES = List.of("KiB", "MiB", "GiB", "TiB", "PiB", "EiB");

    private Units() {}

    /** A plain number, decimal or 0x…; underscores may group digits. */
    static OptionalLong parseWhole(String text) {
        String digits = text.replace("_", "");
        if (!WHOLE.matcher(digits).matches()) {
            return OptionalLong.empty();
        }
        try {
            boolean hex = digits.startsWith("0x") || digits.startsWith("0X");
            return OptionalLong.of(hex ? Long.parseUnsignedLong(digits.substring(2), 16) : Long.parseLong(digits));
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    /**
     * A size in bytes: {@code 512}, {@code 4KiB}, {@code 64M} (powers of two), {@code 10GB} (powers of ten),
     * {@code 1.5GiB}, {@code 0x1000}; empty if it is not one, not whole, or beyond 2^63 − 1.
     */
    public static OptionalLong parseSize(String text) {
        OptionalLong plain = parseWhole(text);
        if (plain.isPresent()) {
            return plain.getAsLong() < 0 ? OptionalLong.empty() : plain;
        }
        Matcher matcher = NUMBER.matcher(text);
        if (!matcher.matches()) {
            return OptionalLong.empty();
        }
        String unit = matcher.group(2).toLowerCase(java.util.Locale.ROOT);
        BigInteger factor;
        if (unit.isEmpty() || unit.equals("b")) {
            factor = BigInteger.ONE;
        } else {
            int power = PREFIXES.indexOf(unit.charAt(0)) + 1;
            String rest = unit.substring(1);
            if (power == 0 || !rest.isEmpty() && !rest.equals("b") && !rest.equals("ib")) {
                return OptionalLong.empty();
            }
            factor = rest.equals("b") ? BigInteger.valueOf(1000).pow(power) : BigInteger.ONE.shiftLeft(10 * power);
        }
        return exact(matcher.group(1), factor);
    }

    /** A duration in nanoseconds: {@code 100us}, {@code 2ms}, {@code 1.5s}, {@code 2m}, {@code 1h}; 0 needs no unit. */
    public static OptionalLong parseNanos(String text) {
        Matcher matcher = NUMBER.matcher(text);
        if (!matcher.matches()) {
            return OptionalLong.empty();
        }
        long factor = switch (matcher.group(2)) {
            case "ns" -> 1L;
            case "us", "µs" -> 1_000L;
            case "ms" -> 1_000_000L;
            case "s" -> 1_000_000_000L;
            case "m", "min" -> 60_000_000_000L;
            case "h" -> 3_600_000_000_000L;
            case "d" -> 86_400_000_000_000L;
            default -> 0L;
        };
        if (factor == 0) {
            return matcher.group(1).equals("0") && matcher.group(2).isEmpty()
                    ? OptionalLong.of(0)
                    : OptionalLong.empty();
        }
        return exact(matcher.group(1), BigInteger.valueOf(factor));
    }

    private static OptionalLong exact(String number, BigInteger factor) {
        try {
            return OptionalLong.of(
                    new BigDecimal(number).multiply(new BigDecimal(factor)).longValueExact());
        } catch (ArithmeticException e) {
            return OptionalLong.empty();
        }
    }

    /** The shortest exact spelling of a size, in powers of two. */
    public static String formatSize(long sizeBytes) {
        for (int i = BINARY_NAMES.size() - 1; i >= 0; i--) {
            int shift = 10 * (i + 1);
            if (sizeBytes != 0 && sizeBytes % (1L << shift) == 0) {
                return (sizeBytes >> shift) + BINARY_NAMES.get(i);
            }
        }
        return Long.toString(sizeBytes);
    }

    /** The shortest exact spelling of a duration. */
    public static String formatNanos(long nanos) {
        if (nanos == 0) {
            return "0s";
        }
        if (nanos % 1_000_000_000L == 0) {
            return nanos / 1_000_000_000L + "s";
        }
        if (nanos % 1_000_000L == 0) {
            return nanos / 1_000_000L + "ms";
        }
        return nanos % 1_000L == 0 ? nanos / 1_000L + "us" : nanos + "ns";
    }
}
