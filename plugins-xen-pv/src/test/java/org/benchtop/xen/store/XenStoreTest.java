package org.benchtop.xen.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The tree: who may do what, transactions, watches, quotas. */
final class XenStoreTest {
    private static final int GUEST = 1;

    private final XenStore store = new XenStore();

    XenStoreTest() {
        store.write("/local/domain/1/data", "");
        store.permissions("/local/domain/1/data", "n1");
        store.permissions("/local/domain/1", "n0 r1");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static void refused(StoreError error, Executable action) {
        assertEquals(error, assertThrows(StoreException.class, action).error());
    }

    @Test
    void guestWritesWhatItOwnsAndReadsWhatItMay() throws StoreException {
        store.write(GUEST, 0, "/local/domain/1/data/a/b", bytes("value"));

        assertArrayEquals(bytes("value"), store.read(GUEST, 0, "/local/domain/1/data/a/b"));
        assertEquals(Optional.of("value"), store.read("/local/domain/1/data/a/b"));
        assertEquals(
                "n1",
                store.permissions(GUEST, 0, "/local/domain/1/data/a").getFirst().toString());
        refused(StoreError.EACCES, () -> store.write(GUEST, 0, "/local/domain/1/name", bytes("x")));
        refused(StoreError.EACCES, () -> store.read(GUEST, 0, "/local/domain/0"));
        refused(StoreError.ENOENT, () -> store.read(GUEST, 0, "/local/domain/1/data/none"));
        refused(StoreError.EACCES, () -> store.read(GUEST, 0, "/tool/none"));
    }

    @Test
    void onlyOwnersGiveRightsAndKeepTheNode() throws StoreException {
        store.write(GUEST, 0, "/local/domain/1/data/x", bytes(""));
        store.permissions(GUEST, 0, "/local/domain/1/data/x", List.of(new Permission('r', GUEST)));
        refused(
                StoreError.EACCES,
                () -> store.permissions(GUEST, 0, "/local/domain/1/data/x", List.of(new Permission('n', 0))));
        refused(
                StoreError.EACCES,
                () -> store.permissions(GUEST, 0, "/local/domain/1", List.of(new Permission('b', GUEST))));
    }

    @Test
    void transactionIsSeenByOthersOnlyWhenItCommits() throws StoreException {
        int id = store.startTransaction(GUEST);
        store.write(GUEST, id, "/local/domain/1/data/t", bytes("1"));
        assertTrue(store.read("/local/domain/1/data/t").isEmpty());
        assertArrayEquals(bytes("1"), store.read(GUEST, id, "/local/domain/1/data/t"));

        store.endTransaction(GUEST, id, true);

        assertEquals(Optional.of("1"), store.read("/local/domain/1/data/t"));
        refused(StoreError.ENOENT, () -> store.endTransaction(GUEST, id, true));
    }

    @Test
    void transactionThatReadWhatChangedIsRefused() throws StoreException {
        store.write(GUEST, 0, "/local/domain/1/data/t", bytes("1"));
        int id = store.startTransaction(GUEST);
        byte[] unused = store.read(GUEST, id, "/local/domain/1/data/t");
        store.write(GUEST, id, "/local/domain/1/data/u", bytes("2"));
        store.write("/local/domain/1/data/t", "other");

        refused(StoreError.EAGAIN, () -> store.endTransaction(GUEST, id, true));

        assertTrue(store.read("/local/domain/1/data/u").isEmpty());
    }

    @Test
    void transactionIsMergedWithUnrelatedChanges() throws StoreException {
        int id = store.startTransaction(GUEST);
        store.write(GUEST, id, "/local/domain/1/data/mine", bytes("1"));
        store.write("/local/domain/0/other", "2");

        store.endTransaction(GUEST, id, true);

        assertEquals(Optional.of("1"), store.read("/local/domain/1/data/mine"));
        assertEquals(Optional.of("2"), store.read("/local/domain/0/other"));
    }

    @Test
    void abortedTransactionLeavesNothing() throws StoreException {
        int id = store.startTransaction(GUEST);
        store.remove(GUEST, id, "/local/domain/1/data");
        store.endTransaction(GUEST, id, false);

        assertTrue(store.read("/local/domain/1/data").isPresent());
    }

    @Test
    void watchFiresAtOnceBelowAndForWhatIsRemoved() throws StoreException {
        List<String> seen = new ArrayList<>();
        store.watch(GUEST, "/local/domain/1/data/w", "data/w", "token", (path, token) -> seen.add(path + "=" + token));
        assertEquals(List.of("data/w=token"), seen);

        store.write(GUEST, 0, "/local/domain/1/data/w/x", bytes("1"));
        store.remove(GUEST, 0, "/local/domain/1/data");
        store.write("/local/domain/0/w", "elsewhere");

        assertEquals(List.of("data/w=token", "data/w/x=token", "data/w=token"), seen);
        store.unwatch(GUEST, "/local/domain/1/data/w", "token");
        refused(StoreError.ENOENT, () -> store.unwatch(GUEST, "/local/domain/1/data/w", "token"));
    }

    @Test
    void watchDoesNotTellOfWhatTheGuestMayNotRead() throws StoreException {
        List<String> seen = new ArrayList<>();
        store.watch(GUEST, "/local/domain/0", "/local/domain/0", "t", (path, token) -> seen.add(path));

        store.write("/local/domain/0/secret", "1");

        assertEquals(List.of("/local/domain/0"), seen);
    }

    @Test
    void quotasEndWhatAGuestCanTake() throws StoreException {
        refused(
                StoreError.ENOSPC,
                () -> store.write(GUEST, 0, "/local/domain/1/data/big", new byte[XenStore.QUOTA_VALUE_BYTES + 1]));
        refused(StoreError.ENOSPC, () -> {
            for (int i = 0; i <= XenStore.QUOTA_NODES; i++) {
                store.write(GUEST, 0, "/local/domain/1/data/n" + i, bytes(""));
            }
        });
        refused(StoreError.EQUOTA, () -> {
            for (int i = 0; i <= XenStore.QUOTA_WATCHES; i++) {
                store.watch(GUEST, "/local/domain/1/w" + i, "w", "t", (path, token) -> {});
            }
        });
        refused(StoreError.EQUOTA, () -> {
            for (int i = 0; i <= XenStore.QUOTA_TRANSACTIONS; i++) {
                int unused = store.startTransaction(GUEST);
            }
        });
        store.forget(GUEST);
        assertEquals(0, store.watches(GUEST));
    }

    @Test
    void malformedPathsAreRefused() {
        for (String path : List.of("", "a//b", "a/", "a b", "ä", "x".repeat(4000))) {
            refused(StoreError.EINVAL, () -> StorePath.absolute("/local/domain/1", path));
        }
        refused(StoreError.EINVAL, () -> store.write(GUEST, 0, "/a" + "/a".repeat(100), bytes("")));
    }
}
