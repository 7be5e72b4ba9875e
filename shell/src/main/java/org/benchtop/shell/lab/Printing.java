package org.benchtop.shell.lab;

import java.util.Locale;

/**
 * Printing as in {@code jshell PRINTING}, for {@code import static org.benchtop.shell.lab.Printing.*}: everything goes to
 * {@link System#out} as it is at that moment.
 */
public final class Printing {
    private Printing() {}

    /** Ends the line. */
    public static void println() {
        System.out.println();
    }

    /** Prints a value and ends the line. */
    public static void println(boolean value) {
        System.out.println(value);
    }

    /** Prints a character and ends the line. */
    public static void println(char value) {
        System.out.println(value);
    }

    /** Prints a value and ends the line. */
    public static void println(int value) {
        System.out.println(value);
    }

    /** Prints a value and ends the line. */
    public static void println(long value) {
        System.out.println(value);
    }

    /** Prints a value and ends the line. */
    public static void println(float value) {
        System.out.println(value);
    }

    /** Prints a value and ends the line. */
    public static void println(double value) {
        System.out.println(value);
    }

    /** Prints characters and ends the line. */
    public static void println(char[] value) {
        System.out.println(value);
    }

    /** Prints a text and ends the line. */
    public static void println(String value) {
        System.out.println(value);
    }

    /** Prints an object as text and ends the line. */
    public static void println(Object value) {
        System.out.println(value);
    }

    /** Prints a value. */
    public static void print(boolean value) {
        System.out.print(value);
    }

    /** Prints a character. */
    public static void print(char value) {
        System.out.print(value);
    }

    /** Prints a value. */
    public static void print(int value) {
        System.out.print(value);
    }

    /** Prints a value. */
    public static void print(long value) {
        System.out.print(value);
    }

    /** Prints a value. */
    public static void print(float value) {
        System.out.print(value);
    }

    /** Prints a value. */
    public static void print(double value) {
        System.out.print(value);
    }

    /** Prints characters. */
    public static void print(char[] value) {
        System.out.print(value);
    }

    /** Prints a text. */
    public static void print(String value) {
        System.out.print(value);
    }

    /** Prints an object as text. */
    public static void print(Object value) {
        System.out.print(value);
    }

    /** Prints a text with values in the places of {@link java.util.Formatter}. */
    public static void printf(String format, Object... values) {
        System.out.printf(format, values);
    }

    /** Prints a text with values in the places of {@link java.util.Formatter}, written as in a language. */
    public static void printf(Locale locale, String format, Object... values) {
        System.out.printf(locale, format, values);
    }
}
