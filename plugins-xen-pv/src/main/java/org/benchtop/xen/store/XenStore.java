package org.benchtop.xen.store;

import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The tree of names and values that guests and backends agree by (docs/misc/xenstore.txt of Xen).
 *
 * <p>Thread-safe; listeners of watches are called with the lock held, in the order of changes. What a guest asks for is
 * limited by quotas; the privileged domain has none.
 */
public final class XenStore {
    /** The domain of backends and of the user. */
    public static final int PRIVILEGED = 0;

    /** Nodes that a guest may own. */
    public static final int QUOTA_NODES = 1000;
    /** Watches that a guest may have. */
    public static final int QUOTA_WATCHES = 128;
    /** Transactions that a guest may have open. */
    public static final int QUOTA_TRANSACTIONS = 10;
    /** The longest value that a guest may write. */
    public static final int QUOTA_VALUE_BYTES = 2048;
    /** Entries in a permission list. */
    public static final int QUOTA_PERMISSIONS = 5;
    /** Names below each other. */
    static final int MAX_DEPTH = 64;

    private static final byte[] EMPTY = {};

    private StoreNode root = new StoreNode(EMPTY, List.of(new Permission('n', PRIVILEGED)), new TreeMap<>(), 0);
    private long generation;
    private final List<StoreWatch> watches = new ArrayList<>();
    private final Map<Integer, Map<Integer, StoreTransaction>> transactions = new HashMap<>();
    private int nextTransaction = 1;

    public XenStore() {}

    // Reading.

    private static @Nullable StoreNode find(StoreNode from, String path) {
        StoreNode node = from;
        for (String name : StorePath.names(path)) {
            node = node.child(name);
            if (node == null) {
                return null;
            }
        }
        return node;
    }

    /** The nearest node at or above a path. */
    private static StoreNode nearest(StoreNode from, String path) {
        StoreNode node = from;
        for (String name : StorePath.names(path)) {
            StoreNode next = node.child(name);
            if (next == null) {
                break;
            }
            node = next;
        }
        return node;
    }

    private StoreNode node(int domid, int transaction, String path) throws StoreException {
        StoreNode from = root;
        if (transaction != 0) {
            StoreTransaction open = transaction(domid, transaction);
            look(open, path);
            from = open.root;
        }
        StoreNode node = find(from, path);
        if (node == null) {
            // Who may not read where it would be is not told whether it is there.
            throw new StoreException(nearest(from, path).allows(domid, false) ? StoreError.ENOENT : StoreError.EACCES);
        }
        if (!node.allows(domid, false)) {
            throw new StoreException(StoreError.EACCES);
        }
        return node;
    }

    private static void look(StoreTransaction open, String path) throws StoreException {
        if (open.seen.containsKey(path)) {
            return;
        }
        if (open.seen.size() >= StoreTransaction.MAX_PATHS) {
            throw new StoreException(StoreError.ENOSPC);
        }
        StoreNode node = find(open.base, path);
        open.seen.put(path, node == null ? -1L : node.generation());
    }

    private StoreTransaction transaction(int domid, int id) throws StoreException {
        Map<Integer, StoreTransaction> open = transactions.get(domid);
        StoreTransaction found = open == null ? null : open.get(id);
        if (found == null) {
            throw new StoreException(StoreError.ENOENT);
        }
        return found;
    }

    synchronized byte[] read(int domid, int transaction, String path) throws StoreException {
        return node(domid, transaction, path).value();
    }

    /** Names of children, and the generation of the list. */
    record Listing(List<String> names, long generation) {}

    synchronized Listing list(int domid, int transaction, String path) throws StoreException {
        StoreNode node = node(domid, transaction, path);
        return new Listing(List.copyOf(node.children().keySet()), node.generation());
    }

    synchronized List<Permission> permissions(int domid, int transaction, String path) throws StoreException {
        return node(domid, transaction, path).permissions();
    }

    // Changing.

    private void change(int domid, int transaction, String path, StoreTransaction.Change change, List<String> removed)
            throws StoreException {
        if (transaction == 0) {
            StoreNode before = root;
            StoreNode after = change.apply(root);
            checkQuota(domid, before, after);
            root = after;
            report(new StoreTransaction.Changed(path, removed, nearest(removed.isEmpty() ? after : before, path)));
            return;
        }
        StoreTransaction open = transaction(domid, transaction);
        look(open, path);
        if (open.changes.size() >= StoreTransaction.MAX_PATHS) {
            throw new StoreException(StoreError.ENOSPC);
        }
        StoreNode before = open.root;
        StoreNode after = change.apply(before);
        checkQuota(domid, before, after);
        open.root = after;
        open.changes.add(change);
        open.changed.add(
                new StoreTransaction.Changed(path, removed, nearest(removed.isEmpty() ? after : before, path)));
    }

    private static void checkQuota(int domid, StoreNode before, StoreNode after) throws StoreException {
        if (domid != PRIVILEGED && after.owned(domid) > Math.max(QUOTA_NODES, before.owned(domid))) {
            throw new StoreException(StoreError.ENOSPC);
        }
    }

    private void report(StoreTransaction.Changed change) {
        for (StoreWatch watch : List.copyOf(watches)) {
            if (StorePath.within(watch.path(), change.path())) {
                if (change.nearest().allows(watch.domid(), false)) {
                    watch.listener().changed(watch.report(change.path()), watch.token());
                }
                continue;
            }
            for (String gone : change.removed()) {
                if (gone.equals(watch.path()) && change.nearest().allows(watch.domid(), false)) {
                    watch.listener().changed(watch.asGiven(), watch.token());
                }
            }
        }
    }

    /** Puts a node at a path, making those above it, each owned by who owns what is above. */
    private StoreNode put(StoreNode from, List<String> names, int at, int domid, byte[] value, boolean keep)
            throws StoreException {
        if (at == names.size()) {
            if (!from.allows(domid, true)) {
                throw new StoreException(StoreError.EACCES);
            }
            return keep ? from : new StoreNode(value, from.permissions(), from.children(), ++generation);
        }
        String name = names.get(at);
        StoreNode child = from.child(name);
        if (child == null) {
            if (!from.allows(domid, true)) {
                throw new StoreException(StoreError.EACCES);
            }
            List<Permission> permissions = new ArrayList<>(from.permissions());
            if (domid != PRIVILEGED) {
                // What a guest makes is the guest's.
                permissions.set(0, new Permission(permissions.getFirst().access(), domid));
            }
            child = new StoreNode(EMPTY, List.copyOf(permissions), new TreeMap<>(), ++generation);
            StoreNode made = at + 1 == names.size()
                    ? new StoreNode(value, child.permissions(), child.children(), child.generation())
                    : put(child, names, at + 1, domid, value, keep);
            return from.with(name, made, ++generation);
        }
        return from.with(name, put(child, names, at + 1, domid, value, keep), generation);
    }

    private static List<String> checkedNames(String path) throws StoreException {
        List<String> names = StorePath.names(path);
        if (path.startsWith("@") || names.size() > MAX_DEPTH) {
            throw new StoreException(StoreError.EINVAL);
        }
        return names;
    }

    synchronized void write(int domid, int transaction, String path, byte[] value) throws StoreException {
        List<String> names = checkedNames(path);
        if (domid != PRIVILEGED && value.length > QUOTA_VALUE_BYTES) {
            throw new StoreException(StoreError.ENOSPC);
        }
        change(domid, transaction, path, tree -> put(tree, names, 0, domid, value, false), List.of());
    }

    synchronized void makeDirectory(int domid, int transaction, String path) throws StoreException {
        List<String> names = checkedNames(path);
        StoreNode from = transaction == 0 ? root : transaction(domid, transaction).root;
        if (find(from, path) != null) {
            // It is fine if it is there.
            return;
        }
        change(domid, transaction, path, tree -> put(tree, names, 0, domid, EMPTY, true), List.of());
    }

    synchronized void remove(int domid, int transaction, String path) throws StoreException {
        List<String> names = checkedNames(path);
        if (names.isEmpty()) {
            throw new StoreException(StoreError.EINVAL);
        }
        StoreNode from = transaction == 0 ? root : transaction(domid, transaction).root;
        StoreNode gone = find(from, path);
        if (gone == null) {
            String parent = path.substring(0, Math.max(1, path.lastIndexOf('/')));
            if (find(from, parent) == null) {
                throw new StoreException(StoreError.ENOENT);
            }
            return;
        }
        if (!gone.allows(domid, true)) {
            throw new StoreException(StoreError.EACCES);
        }
        List<String> below = new ArrayList<>();
        collect(path, gone, below);
        change(domid, transaction, path, tree -> removed(tree, names, 0), below);
    }

    private static void collect(String path, StoreNode node, List<String> into) {
        into.add(path);
        node.children().forEach((name, child) -> collect(path + "/" + name, child, into));
    }

    private StoreNode removed(StoreNode from, List<String> names, int at) {
        StoreNode child = from.child(names.get(at));
        if (child == null) {
            return from;
        }
        return at + 1 == names.size()
                ? from.with(names.get(at), null, ++generation)
                : from.with(names.get(at), removed(child, names, at + 1), generation);
    }

    synchronized void permissions(int domid, int transaction, String path, List<Permission> permissions)
            throws StoreException {
        List<String> names = checkedNames(path);
        if (permissions.isEmpty() || domid != PRIVILEGED && permissions.size() > QUOTA_PERMISSIONS) {
            throw new StoreException(permissions.isEmpty() ? StoreError.EINVAL : StoreError.ENOSPC);
        }
        StoreNode node = node(domid, transaction, path);
        boolean owner = domid == PRIVILEGED || node.owner() == domid;
        if (!owner || domid != PRIVILEGED && permissions.getFirst().domid() != domid) {
            throw new StoreException(StoreError.EACCES);
        }
        List<Permission> list = List.copyOf(permissions);
        change(domid, transaction, path, tree -> repermitted(tree, names, 0, list), List.of());
    }

    private StoreNode repermitted(StoreNode from, List<String> names, int at, List<Permission> list) {
        if (at == names.size()) {
            return new StoreNode(from.value(), list, from.children(), ++generation);
        }
        StoreNode child = from.child(names.get(at));
        return child == null ? from : from.with(names.get(at), repermitted(child, names, at + 1, list), generation);
    }

    // Transactions.

    synchronized int startTransaction(int domid) throws StoreException {
        Map<Integer, StoreTransaction> open = transactions.computeIfAbsent(domid, d -> new HashMap<>());
        if (domid != PRIVILEGED && open.size() >= QUOTA_TRANSACTIONS) {
            throw new StoreException(StoreError.EQUOTA);
        }
        while (nextTransaction == 0 || open.containsKey(nextTransaction)) {
            nextTransaction++;
        }
        open.put(nextTransaction, new StoreTransaction(root));
        return nextTransaction++;
    }

    synchronized void endTransaction(int domid, int id, boolean commit) throws StoreException {
        StoreTransaction open = transaction(domid, id);
        Map<Integer, StoreTransaction> all = transactions.get(domid);
        if (all != null) {
            all.remove(id);
        }
        if (!commit || open.changes.isEmpty()) {
            return;
        }
        StoreNode after = open.root;
        if (root != open.base) {
            for (Map.Entry<String, Long> seen : open.seen.entrySet()) {
                StoreNode now = find(root, seen.getKey());
                if ((now == null ? -1L : now.generation()) != seen.getValue()) {
                    throw new StoreException(StoreError.EAGAIN);
                }
            }
            after = root;
            for (StoreTransaction.Change change : open.changes) {
                try {
                    after = change.apply(after);
                } catch (StoreException e) {
                    // What was allowed then is not any more: somebody has changed what is above.
                    throw new StoreException(StoreError.EAGAIN);
                }
            }
        }
        checkQuota(domid, root, after);
        root = after;
        open.changed.forEach(this::report);
    }

    // Watches.

    synchronized void watch(int domid, String path, String asGiven, String token, StoreWatch.Listener listener)
            throws StoreException {
        int count = 0;
        for (StoreWatch watch : watches) {
            if (watch.domid() == domid) {
                count++;
                if (watch.path().equals(path) && watch.token().equals(token)) {
                    throw new StoreException(StoreError.EEXIST);
                }
            }
        }
        if (domid != PRIVILEGED && count >= QUOTA_WATCHES) {
            throw new StoreException(StoreError.EQUOTA);
        }
        watches.add(new StoreWatch(domid, path, asGiven, token, listener));
        // A watch fires at once, so that nobody has to look before.
        listener.changed(asGiven, token);
    }

    synchronized void unwatch(int domid, String path, String token) throws StoreException {
        if (!watches.removeIf(watch -> watch.domid() == domid
                && watch.path().equals(path)
                && watch.token().equals(token))) {
            throw new StoreException(StoreError.ENOENT);
        }
    }

    /** Forgets the watches and transactions of a domain. */
    synchronized void forget(int domid) {
        watches.removeIf(watch -> watch.domid() == domid);
        transactions.remove(domid);
    }

    // What backends and the user do, as the privileged domain.

    private interface Action<T> {
        T run() throws StoreException;
    }

    private static <T> T privileged(Action<T> action) {
        try {
            return action.run();
        } catch (StoreException e) {
            throw new IllegalArgumentException("xenstore refuses: " + e.error(), e);
        }
    }

    private static String checked(String path) {
        return privileged(() -> StorePath.absolute("/local/domain/0", path));
    }

    /** The value of a node; empty if there is none. */
    public synchronized Optional<String> read(String path) {
        StoreNode node = find(root, checked(path));
        return node == null ? Optional.empty() : Optional.of(new String(node.value(), StandardCharsets.ISO_8859_1));
    }

    /** Writes a node, making those above it. */
    public synchronized void write(String path, String value) {
        String at = checked(path);
        privileged(() -> {
            write(PRIVILEGED, 0, at, value.getBytes(StandardCharsets.ISO_8859_1));
            return true;
        });
    }

    /** Sets who may do what, such as {@code n1 r0}. */
    public synchronized void permissions(String path, String list) {
        String at = checked(path);
        List<Permission> permissions = new ArrayList<>();
        for (String word : list.split(" ", -1)) {
            permissions.add(Permission.parse(word)
                    .orElseThrow(
                            () -> new IllegalArgumentException("\"" + word + "\" is not a permission, such as r0")));
        }
        privileged(() -> {
            permissions(PRIVILEGED, 0, at, permissions);
            return true;
        });
    }

    /** Removes a node and all below; does nothing if there is none. */
    public synchronized void remove(String path) {
        String at = checked(path);
        if (find(root, at) != null) {
            privileged(() -> {
                remove(PRIVILEGED, 0, at);
                return true;
            });
        }
    }

    /** Names of the children of a node; empty if there is no such node. */
    public synchronized List<String> list(String path) {
        StoreNode node = find(root, checked(path));
        return node == null ? List.of() : List.copyOf(node.children().keySet());
    }

    /**
     * Calls back for every change at or below a path, and once at first.
     *
     * @param listener gets the changed path; called with the store's lock held, so it only notes it
     */
    public AutoCloseable watch(String path, Consumer<String> listener) {
        String at = checked(path);
        String token;
        synchronized (this) {
            token = "w" + nextToken++;
        }
        privileged(() -> {
            watch(PRIVILEGED, at, at, token, (changed, unused) -> notify(listener, changed));
            return true;
        });
        return () -> unwatchQuietly(at, token);
    }

    private int nextToken;

    private static void notify(Consumer<String> listener, String changed) {
        try {
            listener.accept(changed);
        } catch (RuntimeException e) {
            System.getLogger("org.benchtop.xen").log(Level.WARNING, "a xenstore watch failed", e);
        }
    }

    private synchronized void unwatchQuietly(String path, String token) {
        watches.removeIf(watch -> watch.domid() == PRIVILEGED
                && watch.path().equals(path)
                && watch.token().equals(token));
    }

    /** All values by path, in order, for people. */
    public synchronized Map<String, String> tree() {
        Map<String, String> all = new LinkedHashMap<>();
        describe("", root, all);
        return all;
    }

    private static void describe(String path, StoreNode node, Map<String, String> into) {
        node.children().forEach((name, child) -> {
            into.put(path + "/" + name, new String(child.value(), StandardCharsets.ISO_8859_1));
            describe(path + "/" + name, child, into);
        });
    }

    /** How many nodes there are. */
    public synchronized int nodes() {
        return root.size() - 1;
    }

    /** How many watches of a domain there are. */
    synchronized int watches(int domid) {
        return (int) watches.stream().filter(watch -> watch.domid() == domid).count();
    }

    /** Empties the tree and forgets what guests were about. Watches of backends stay. */
    public synchronized void reset() {
        watches.removeIf(watch -> watch.domid() != PRIVILEGED);
        transactions.clear();
        root = new StoreNode(EMPTY, List.of(new Permission('n', PRIVILEGED)), new TreeMap<>(), ++generation);
    }
}
