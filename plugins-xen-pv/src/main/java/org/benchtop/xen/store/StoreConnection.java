package org.benchtop.xen.store;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * One domain's conversation with the store: takes whole messages and makes answers and watch events. Knows nothing of rings.
 *
 * <p>Belongs to one thread, except that watch events are noted by any.
 */
final class StoreConnection {
    /** Events that wait to be fetched at most: then the guest has given up reading. */
    static final int MAX_EVENTS = 4096;

    private final XenStore store;
    private final int domid;
    private final String home;
    private final Runnable onEvent;
    private final Object eventLock = new Object();
    private final Deque<Event> events = new ArrayDeque<>();
    private final Set<Event> waiting = new HashSet<>();
    private boolean overflown;

    private record Event(String path, String token) {}

    /**
     * A conversation that has just begun.
     *
     * @param home what relative paths start from
     * @param onEvent called when a watch event waits, with the store's lock held
     */
    StoreConnection(XenStore store, int domid, String home, Runnable onEvent) {
        this.store = store;
        this.domid = domid;
        this.home = home;
        this.onEvent = onEvent;
    }

    /** Whether so many events wait that no more are kept. */
    boolean overflown() {
        synchronized (eventLock) {
            return overflown;
        }
    }

    /** Ends the conversation: watches and transactions go. */
    void reset() {
        store.forget(domid);
        synchronized (eventLock) {
            events.clear();
            waiting.clear();
            overflown = false;
        }
    }

    private void note(String path, String token) {
        synchronized (eventLock) {
            Event event = new Event(path, token);
            // "Something has changed" needs to be said once.
            if (!waiting.add(event)) {
                return;
            }
            if (events.size() >= MAX_EVENTS) {
                waiting.remove(event);
                overflown = true;
                return;
            }
            events.add(event);
        }
        onEvent.run();
    }

    /** The next watch event as a message; empty if none waits. */
    byte[] nextEvent() {
        Event event;
        synchronized (eventLock) {
            event = events.poll();
            if (event == null) {
                return new byte[0];
            }
            waiting.remove(event);
        }
        return message(StoreMessage.WATCH_EVENT, 0, 0, strings(event.path(), event.token()));
    }

    private static byte[] message(int type, int request, int transaction, byte[] payload) {
        ByteBuffer buffer =
                ByteBuffer.allocate(StoreMessage.HEADER + payload.length).order(ByteOrder.LITTLE_ENDIAN);
        buffer.putInt(type)
                .putInt(request)
                .putInt(transaction)
                .putInt(payload.length)
                .put(payload);
        return buffer.array();
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static byte[] strings(String... texts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (String text : texts) {
            out.writeBytes(ascii(text));
            out.write(0);
        }
        return out.toByteArray();
    }

    /** Answers a request. */
    byte[] answer(int type, int request, int transaction, byte[] payload) {
        byte[] result;
        try {
            result = handle(type, transaction, payload);
            if (result.length > StoreMessage.MAX_PAYLOAD) {
                throw new StoreException(StoreError.E2BIG);
            }
        } catch (StoreException e) {
            return message(
                    StoreMessage.ERROR, request, transaction, strings(e.error().name()));
        }
        return message(type, request, transaction, result);
    }

    private static final byte[] OK = {'O', 'K', 0};

    private byte[] handle(int type, int transaction, byte[] payload) throws StoreException {
        switch (type) {
            case StoreMessage.DIRECTORY -> {
                return strings(
                        store.list(domid, transaction, path(payload)).names().toArray(new String[0]));
            }
            case StoreMessage.DIRECTORY_PART -> {
                return part(transaction, payload);
            }
            case StoreMessage.READ -> {
                return store.read(domid, transaction, path(payload));
            }
            case StoreMessage.GET_PERMS -> {
                return strings(store.permissions(domid, transaction, path(payload)).stream()
                        .map(Permission::toString)
                        .toArray(String[]::new));
            }
            case StoreMessage.WRITE -> {
                int end = terminator(payload);
                String path = absolute(new String(payload, 0, end, StandardCharsets.ISO_8859_1));
                store.write(domid, transaction, path, java.util.Arrays.copyOfRange(payload, end + 1, payload.length));
                return OK;
            }
            case StoreMessage.MKDIR -> {
                store.makeDirectory(domid, transaction, path(payload));
                return OK;
            }
            case StoreMessage.RM -> {
                store.remove(domid, transaction, path(payload));
                return OK;
            }
            case StoreMessage.SET_PERMS -> {
                List<String> words = words(payload, 2, Integer.MAX_VALUE);
                List<Permission> permissions = new ArrayList<>();
                for (String word : words.subList(1, words.size())) {
                    permissions.add(Permission.parse(word).orElseThrow(() -> new StoreException(StoreError.EINVAL)));
                }
                store.permissions(domid, transaction, absolute(words.getFirst()), permissions);
                return OK;
            }
            case StoreMessage.WATCH -> {
                List<String> words = words(payload, 2, 2);
                String given = words.getFirst();
                store.watch(domid, absolute(given), given, words.get(1), this::note);
                return OK;
            }
            case StoreMessage.UNWATCH -> {
                List<String> words = words(payload, 2, 2);
                store.unwatch(domid, absolute(words.getFirst()), words.get(1));
                return OK;
            }
            case StoreMessage.RESET_WATCHES -> {
                reset();
                return OK;
            }
            case StoreMessage.TRANSACTION_START -> {
                if (transaction != 0) {
                    throw new StoreException(StoreError.EINVAL);
                }
                return strings(Integer.toUnsignedString(store.startTransaction(domid)));
            }
            case StoreMessage.TRANSACTION_END -> {
                String word = words(payload, 1, 1).getFirst();
                if (!word.equals("T") && !word.equals("F")) {
                    throw new StoreException(StoreError.EINVAL);
                }
                store.endTransaction(domid, transaction, word.equals("T"));
                return OK;
            }
            case StoreMessage.GET_DOMAIN_PATH -> {
                return strings("/local/domain/" + number(words(payload, 1, 1).getFirst()));
            }
            case StoreMessage.IS_DOMAIN_INTRODUCED -> {
                int asked = number(words(payload, 1, 1).getFirst());
                return strings(asked == domid || asked == XenStore.PRIVILEGED ? "T" : "F");
            }
            case StoreMessage.CONTROL, StoreMessage.INTRODUCE, StoreMessage.RELEASE ->
                throw new StoreException(StoreError.EACCES);
            default -> throw new StoreException(StoreError.ENOSYS);
        }
    }

    /** A part of a long list of children: its generation, and names from an offset on as far as they fit. */
    private byte[] part(int transaction, byte[] payload) throws StoreException {
        List<String> words = words(payload, 2, 2);
        int offset = number(words.get(1));
        XenStore.Listing listing = store.list(domid, transaction, absolute(words.getFirst()));
        byte[] all = strings(listing.names().toArray(new String[0]));
        if (offset > all.length) {
            throw new StoreException(StoreError.EINVAL);
        }
        byte[] head = strings(Long.toUnsignedString(listing.generation()));
        int room = StoreMessage.MAX_PAYLOAD - head.length - 1;
        int end = offset;
        while (end < all.length) {
            int next = end;
            while (all[next] != 0) {
                next++;
            }
            if (next + 1 - offset > room) {
                break;
            }
            end = next + 1;
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(head);
        out.write(all, offset, end - offset);
        if (end == all.length) {
            // An empty name ends the last part.
            out.write(0);
        }
        return out.toByteArray();
    }

    private static int number(String word) throws StoreException {
        if (word.isEmpty() || word.length() > 9 || !word.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new StoreException(StoreError.EINVAL);
        }
        return Integer.parseInt(word);
    }

    private static int terminator(byte[] payload) throws StoreException {
        for (int i = 0; i < payload.length; i++) {
            if (payload[i] == 0) {
                return i;
            }
        }
        throw new StoreException(StoreError.EINVAL);
    }

    private String path(byte[] payload) throws StoreException {
        return absolute(words(payload, 1, 1).getFirst());
    }

    private String absolute(String path) throws StoreException {
        return StorePath.absolute(home, path);
    }

    /** The strings of a payload, each with its terminator. */
    private static List<String> words(byte[] payload, int atLeast, int atMost) throws StoreException {
        List<String> words = new ArrayList<>();
        int start = 0;
        for (int i = 0; i < payload.length; i++) {
            if (payload[i] == 0) {
                words.add(new String(payload, start, i - start, StandardCharsets.ISO_8859_1));
                start = i + 1;
            }
        }
        if (start != payload.length || words.size() < atLeast || words.size() > atMost) {
            throw new StoreException(StoreError.EINVAL);
        }
        return words;
    }
}
