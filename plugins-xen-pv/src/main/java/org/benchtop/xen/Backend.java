package org.benchtop.xen;

import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.xen.store.XenStore;
import org.jspecify.annotations.Nullable;

/**
 * The backend's side of xenbus for one device: writes both ends into xenstore and follows the frontend's state, whatever it
 * does: a frontend may close, start again, vanish, or never finish.
 *
 * <p>Everything runs on the domain's loop, which never waits.
 */
final class Backend implements AutoCloseable {
    /** What a kind of device does. All methods are called on the domain's loop. */
    interface Handler {
        /** What the backend offers, written before it waits for the frontend. */
        Map<String, String> features();

        /** What the frontend reads once it is connected. */
        Map<String, String> details();

        /**
         * Connects to what the frontend has written.
         *
         * @return why that is not possible; empty if it is done
         */
        Optional<String> connect(Frontend frontend);

        /** Lets go of the frontend's memory and channels, then runs {@code done} on the domain's loop. */
        void disconnect(Runnable done);
    }

    /** What a frontend has written. */
    interface Frontend {
        /** A value below the frontend's directory. */
        Optional<String> read(String name);

        /** A number below the frontend's directory; empty if it is missing, no number, or too large. */
        default Optional<Integer> number(String name, int max) {
            return read(name).flatMap(text -> parse(text, max));
        }

        private static Optional<Integer> parse(String text, int max) {
            if (text.isEmpty() || text.length() > 10 || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
                return Optional.empty();
            }
            long value = Long.parseLong(text);
            return value > max ? Optional.empty() : Optional.of((int) value);
        }
    }

    private enum Phase {
        /** Waits for the frontend. */
        WAITING,
        /** Works. */
        CONNECTED,
        /** Lets go of the frontend. */
        DISCONNECTING,
        /** Waits for the frontend to begin anew. */
        CLOSED,
    }

    private final XenStore store;
    private final EventLoop loop;
    private final Handler handler;
    private final System.Logger logger;
    private final String front;
    private final String back;
    private final Map<String, String> frontNodes;
    private Phase phase = Phase.WAITING;
    private @Nullable AutoCloseable watch;
    private boolean built;

    /**
     * A device that is not in xenstore yet.
     *
     * @param kind such as {@code vbd}
     * @param number of the device
     * @param frontNodes what the frontend's directory holds besides the usual
     */
    Backend(
            XenDomain domain,
            String kind,
            int number,
            Map<String, String> frontNodes,
            Handler handler,
            System.Logger logger) {
        this.store = domain.store();
        this.loop = domain.loop();
        this.handler = handler;
        this.logger = logger;
        this.frontNodes = frontNodes;
        this.front = DomainTree.HOME + "/device/" + kind + "/" + number;
        this.back = DomainTree.BACKENDS + "/" + kind + "/" + Xen.DOMID + "/" + number;
    }

    /** Writes both ends for a guest that has not begun. Nothing is connected. On the loop. */
    void build() {
        phase = Phase.WAITING;
        built = true;
        store.write(back + "/frontend", front);
        store.write(back + "/frontend-id", Integer.toString(Xen.DOMID));
        store.write(back + "/online", "1");
        store.permissions(back, "n0 r" + Xen.DOMID);
        handler.features().forEach(this::publish);
        publish("state", XenbusState.INIT_WAIT.text());
        for (String name : store.list(back)) {
            store.permissions(back + "/" + name, "n0 r" + Xen.DOMID);
        }
        store.write(front, "");
        store.permissions(front, "n" + Xen.DOMID + " r0");
        frontNodes.forEach((name, value) -> frontend(name, value));
        frontend("backend", back);
        frontend("backend-id", "0");
        frontend("state", XenbusState.INITIALISING.text());
        if (watch == null) {
            watch = store.watch(front + "/state", changed -> loop.execute(this::follow));
        }
    }

    private void frontend(String name, String value) {
        store.write(front + "/" + name, value);
        store.permissions(front + "/" + name, "n" + Xen.DOMID + " r0");
    }

    private void publish(String name, String value) {
        store.write(back + "/" + name, value);
        store.permissions(back + "/" + name, "n0 r" + Xen.DOMID);
    }

    /** Publishes something that has changed. On the loop. */
    void update(String name, String value) {
        if (built) {
            publish(name, value);
            publish("state", store.read(back + "/state").orElse(XenbusState.INIT_WAIT.text()));
        }
    }

    private void state(XenbusState state) {
        publish("state", state.text());
    }

    /** The state that the frontend shows. */
    private XenbusState frontendState() {
        return store.read(front + "/state").map(XenbusState::parse).orElse(XenbusState.UNKNOWN);
    }

    /** Looks at the frontend's state and does what it asks for. On the loop. */
    void follow() {
        if (!built || phase == Phase.DISCONNECTING) {
            return;
        }
        switch (frontendState()) {
            case INITIALISING -> {
                // A frontend that begins anew without having closed, as after a crash.
                if (phase == Phase.CONNECTED) {
                    disconnect(XenbusState.CLOSED);
                } else if (phase == Phase.CLOSED) {
                    phase = Phase.WAITING;
                    handler.features().forEach(this::publish);
                    state(XenbusState.INIT_WAIT);
                }
            }
            case INITIALISED, CONNECTED -> {
                if (phase == Phase.WAITING) {
                    connect();
                }
            }
            case CLOSING -> {
                if (phase == Phase.CONNECTED) {
                    disconnect(XenbusState.CLOSING);
                } else if (phase == Phase.WAITING) {
                    state(XenbusState.CLOSING);
                }
            }
            case CLOSED, UNKNOWN -> {
                if (phase == Phase.CONNECTED) {
                    disconnect(XenbusState.CLOSED);
                } else if (phase == Phase.WAITING) {
                    closed();
                } else {
                    state(XenbusState.CLOSED);
                }
            }
            case INIT_WAIT -> {}
        }
    }

    private void connect() {
        Optional<String> problem = handler.connect(name -> store.read(front + "/" + name));
        if (problem.isPresent()) {
            logger.log(Level.WARNING, "frontend {0} cannot be connected: {1}", front, problem.get());
            publish("error", problem.get());
            phase = Phase.CLOSED;
            state(XenbusState.CLOSING);
            return;
        }
        phase = Phase.CONNECTED;
        handler.details().forEach(this::publish);
        state(XenbusState.CONNECTED);
    }

    private void closed() {
        phase = Phase.CLOSED;
        state(XenbusState.CLOSED);
    }

    private void disconnect(XenbusState then) {
        phase = Phase.DISCONNECTING;
        handler.disconnect(() -> {
            if (phase != Phase.DISCONNECTING) {
                // The machine was reset meanwhile.
                return;
            }
            phase = Phase.CLOSED;
            state(then);
            // The frontend may have gone on meanwhile.
            loop.execute(this::follow);
        });
    }

    /** The frontend has broken the rules: it is cut off, and may begin anew. Any thread. */
    void fault(String what) {
        loop.execute(() -> {
            if (built && phase == Phase.CONNECTED) {
                logger.log(Level.WARNING, "frontend {0} is disconnected: {1}", front, what);
                publish("error", what);
                disconnect(XenbusState.CLOSING);
            }
        });
    }

    /** Whether the frontend is connected. */
    boolean connected() {
        return phase == Phase.CONNECTED;
    }

    /** Forgets the frontend, which is disconnected already; {@link #build} begins anew. On the loop. */
    void forget() {
        built = false;
        phase = Phase.WAITING;
    }

    /** State for people. */
    String describe() {
        return phase.name().toLowerCase(java.util.Locale.ROOT) + ", frontend "
                + frontendState().name().toLowerCase(java.util.Locale.ROOT);
    }

    @Override
    public void close() {
        built = false;
        AutoCloseable open = watch;
        watch = null;
        if (open != null) {
            try {
                open.close();
            } catch (Exception e) {
                throw new IllegalStateException("a watch cannot be closed", e);
            }
        }
    }
}
