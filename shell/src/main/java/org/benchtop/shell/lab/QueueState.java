package org.benchtop.shell.lab;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A device's queue at one moment: whatever the device tells of it, by name, such as the indices and ring addresses of a
 * virtqueue.
 *
 * @param device the device's id
 * @param index which of its queues
 * @param fields values by name, without the requests in flight
 * @param pending requests in flight: values by name
 */
public record QueueState(String device, int index, Map<String, Object> fields, List<Map<String, Object>> pending) {
    private static final String INDEX = "index";
    private static final String PENDING = "pending";
    private static final String AGE = "ageNanos";

    public QueueState {
        fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));
        pending = pending.stream()
                .<Map<String, Object>>map(p -> Collections.unmodifiableMap(new LinkedHashMap<>(p)))
                .toList();
    }

    /** Whether a piece of a device's live state is a list of queues. */
    static boolean isQueues(Object value) {
        return value instanceof List<?> list
                && !list.isEmpty()
                && list.getFirst() instanceof Record first
                && components(first).containsKey(PENDING);
    }

    /** The queues in a device's live state. */
    static List<QueueState> of(String device, Map<String, Object> state) {
        List<QueueState> queues = new ArrayList<>();
        for (Object value : state.values()) {
            if (isQueues(value)) {
                for (Object queue : (List<?>) value) {
                    queues.add(of(device, queues.size(), (Record) queue));
                }
            }
        }
        return queues;
    }

    private static QueueState of(String device, int number, Record queue) {
        Map<String, Object> fields = new LinkedHashMap<>();
        List<Map<String, Object>> pending = new ArrayList<>();
        int index = number;
        for (Map.Entry<String, Object> field : components(queue).entrySet()) {
            switch (field.getKey()) {
                case PENDING -> {
                    for (Object request : field.getValue() instanceof List<?> list ? list : List.of()) {
                        pending.add(request instanceof Record r ? components(r) : Map.of("request", request));
                    }
                }
                case INDEX -> index = field.getValue() instanceof Number n ? n.intValue() : number;
                default -> {
                    if (field.getValue() instanceof Record nested) {
                        fields.putAll(components(nested));
                    } else {
                        fields.put(field.getKey(), field.getValue());
                    }
                }
            }
        }
        return new QueueState(device, index, fields, pending);
    }

    /** Components of a record by name; those that cannot be read are left out. */
    private static Map<String, Object> components(Record record) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            try {
                Object value = component.getAccessor().invoke(record);
                if (value != null) {
                    values.put(component.getName(), value);
                }
            } catch (ReflectiveOperationException e) {
                values.put(component.getName(), "not readable: " + e.getMessage());
            }
        }
        return values;
    }

    private static String shown(String name, Object value) {
        if (name.equals(AGE) && value instanceof Long nanos) {
            return "age=" + org.benchtop.engine.config.Units.formatNanos(nanos);
        }
        return name + "=" + (value instanceof Long address ? Hex.of(address) : value);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(String.format(Locale.ROOT, "%s queue %d:", device, index));
        fields.forEach((name, value) -> text.append(' ').append(shown(name, value)));
        for (Map<String, Object> request : pending) {
            text.append("\n  in flight:");
            request.forEach((name, value) -> text.append(' ').append(shown(name, value)));
        }
        return text.toString();
    }
}
