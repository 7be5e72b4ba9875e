package org.benchtop.notebook.kernel;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A command of notebooks: {@code %name arguments}, or {@code %%name arguments} with the rest of the cell as its body.
 */
public interface Magic {
    /** Its name, without the percent sign. */
    String name();

    /** How it is written, such as {@code %%vm [name]}. */
    String usage();

    /** One line about what it does. */
    String summary();

    /** Whether it takes the rest of the cell. */
    boolean takesCell();

    /**
     * Runs it on the cells' thread.
     *
     * @return what the cell shows as its result; null for nothing
     * @throws Exception when it fails; a {@link org.benchtop.spi.BenchtopException} for wrong input
     */
    @Nullable
    Object run(Call call) throws Exception;

    /** Completions for a position in its body or its arguments; none by default. */
    default Optional<Completions> complete(String text, int cursor) {
        return Optional.empty();
    }

    /**
     * What could replace a part of a text.
     *
     * @param start where the part starts
     * @param matches what could stand there
     */
    record Completions(int start, List<String> matches) {
        public Completions {
            matches = List.copyOf(matches);
        }
    }

    /** One use of a magic. */
    interface Call {
        /** What stands behind the name. */
        String arguments();

        /** The arguments as words; quotes keep blanks. */
        List<String> words();

        /** The rest of the cell; empty for a line magic. */
        String body();

        /** How many lines of the cell are above the body. */
        int bodyLine();

        /** The whole cell or file. */
        String cell();

        /** The number in {@code In [n]}. */
        int count();

        /** Runs Java as if it stood in the cell. */
        Optional<Object> java(String code) throws Exception;

        /** Runs Java as if it stood in a line of the cell, from 0. */
        Optional<Object> java(int line, String code) throws Exception;

        /**
         * Runs another text, Java and magics, as if it were a cell.
         *
         * @param name what messages about it call it
         */
        Optional<Object> script(String name, String script) throws Exception;

        /** Defines a variable for cells. */
        void define(String name, Class<?> type, Object value) throws Exception;

        /** Adds a jar or a folder of classes to what cells see. */
        void addClassPath(String path) throws Exception;

        /** The variables of cells: name, type and value. */
        List<Variable> variables();
    }

    /** A variable of cells. */
    record Variable(String name, String type, String value) {}
}
