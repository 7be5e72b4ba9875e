package org.benchtop.testkit;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Renders saved state as text for comparison; fails on what the engine could not write to a file. */
final class StateText {
    private StateText() {}

    static String of(@Nullable Object value) {
        return switch (value) {
            case null -> throw new AssertionError("saved state contains null");
            case Record record -> record(record);
            case byte[] array -> Arrays.toString(array);
            case int[] array -> Arrays.toString(array);
            case long[] array -> Arrays.toString(array);
            case Optional<?> optional -> optional.map(StateText::of).orElse("empty");
            case List<?> list -> list.stream().map(StateText::of).toList().toString();
            case String text -> text;
            case Number number -> number.toString();
            case Boolean bool -> bool.toString();
            case Character character -> character.toString();
            case Enum<?> constant -> constant.name();
            default ->
                throw new AssertionError(
                        "saved state contains a " + value.getClass().getName()
                                + "; allowed are primitives, String, byte[], int[], long[], enums, Optional, List, records");
        };
    }

    private static String record(Record record) {
        StringBuilder text = new StringBuilder(record.getClass().getSimpleName()).append('[');
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            try {
                var accessor = component.getAccessor();
                accessor.setAccessible(true);
                text.append(component.getName())
                        .append('=')
                        .append(of(accessor.invoke(record)))
                        .append(' ');
            } catch (ReflectiveOperationException e) {
                throw new AssertionError("cannot read " + component + " of " + record.getClass(), e);
            }
        }
        return text.append(']').toString();
    }

    /** Live state as text, with keys in order; values of any type. */
    static String ofInspection(Map<String, Object> inspection) {
        Map<String, String> texts = new TreeMap<>();
        inspection.forEach((key, value) -> texts.put(key, value instanceof Record ? value.toString() : "" + value));
        return texts.toString();
    }
}
