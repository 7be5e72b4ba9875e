package org.benchtop.xen;

import org.benchtop.xen.store.XenStore;

/** What a tool stack writes into xenstore before a domain starts (docs/misc/xenstore-paths.pandoc of Xen). */
final class DomainTree {
    /** The guest's directory. */
    static final String HOME = "/local/domain/" + Xen.DOMID;

    static final String BACKENDS = "/local/domain/0/backend";

    /** Nodes that the guest may change. */
    private static final String[] GUEST_NODES = {"data", "drivers", "attr", "error", "feature", "device/suspend"};

    private DomainTree() {}

    static void build(XenStore store, String name, String uuid, int cpus, long memoryBytes, int storePort) {
        store.write("/local/domain/0/name", "Domain-0");
        store.write("/local/domain/0/domid", "0");
        store.permissions("/local/domain/0", "r0");
        String vm = "/vm/" + uuid;
        store.write(vm + "/name", name);
        store.write(vm + "/uuid", uuid);
        store.permissions(vm, "n0 r" + Xen.DOMID);
        store.permissions(vm + "/name", "n0 r" + Xen.DOMID);
        store.permissions(vm + "/uuid", "n0 r" + Xen.DOMID);
        store.write(HOME, "");
        store.permissions(HOME, "n0 r" + Xen.DOMID);
        store.write(HOME + "/vm", vm);
        store.write(HOME + "/name", name);
        store.write(HOME + "/domid", Integer.toString(Xen.DOMID));
        store.write(HOME + "/memory/static-max", Long.toString(memoryBytes >>> 10));
        store.write(HOME + "/memory/target", Long.toString(memoryBytes >>> 10));
        store.write(HOME + "/store/ring-ref", Long.toString(SharedPages.STORE_FRAME));
        store.write(HOME + "/store/port", Integer.toString(storePort));
        for (int i = 0; i < cpus; i++) {
            store.write(HOME + "/cpu/" + i + "/availability", "online");
        }
        store.write(HOME + "/device", "");
        store.write(HOME + "/control/platform-feature-xs_reset_watches", "1");
        store.write(HOME + "/control/platform-feature-multiprocessor-suspend", "1");
        store.write(HOME + "/control/shutdown", "");
        store.permissions(HOME + "/control/shutdown", "n" + Xen.DOMID);
        for (String node : GUEST_NODES) {
            store.write(HOME + "/" + node, "");
            store.permissions(HOME + "/" + node, "n" + Xen.DOMID);
        }
    }
}
