package org.benchtop.xen;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;
import org.benchtop.spi.chardev.Chardev;
import org.benchtop.spi.chardev.ChardevFrontend;
import org.benchtop.spi.device.Device;
import org.benchtop.spi.device.DeviceContext;
import org.benchtop.spi.event.Doorbell;
import org.benchtop.spi.state.SavedState;
import org.benchtop.spi.stats.Counter;

/** The domain's first console, {@code hvc0} in Linux (io/console.h): a ring for each direction in one page. */
final class XenConsole implements Device {
    private static final int IN_BYTES = 1024;
    private static final int OUT_BYTES = 2048;
    private static final long IN = 0;
    private static final long OUT = 1024;
    private static final long IN_CONS = 3072;
    private static final long IN_PROD = 3076;
    private static final long OUT_CONS = 3080;
    private static final long OUT_PROD = 3084;

    private final String id;
    private final XenConsoleOptions options;
    private Optional<Attached> attached = Optional.empty();
    private volatile boolean paused;

    private record Attached(
            DeviceContext context,
            MemorySegment page,
            Chardev chardev,
            Doorbell doorbell,
            Runnable signal,
            Counter outBytes,
            Counter inBytes,
            Counter guestErrors,
            byte[] buffer) {}

    XenConsole(String id, XenConsoleOptions options) {
        this.id = id;
        this.options = options;
    }

    private Attached attached() {
        return attached.orElseThrow(() -> new IllegalStateException(id + " is not attached"));
    }

    @Override
    public void attach(DeviceContext context) {
        XenDomain domain = XenPlugin.domain(id, context);
        Doorbell doorbell = context.eventLoop().doorbell(id, this::turn);
        Chardev chardev = context.chardev(options.chardev());
        attached = Optional.of(new Attached(
                context,
                domain.consolePage(),
                chardev,
                doorbell,
                domain.connectConsole(doorbell::ring),
                context.stats().counter("out-bytes", "B"),
                context.stats().counter("in-bytes", "B"),
                context.stats().counter("guest-errors"),
                new byte[OUT_BYTES]));
        chardev.connect(new Input(), context.eventLoop());
    }

    private static int index(Attached a, long at) {
        return (int) Xen.INTS.getVolatile(a.page, at);
    }

    /** Moves output, and tells the chardev of room for input. */
    private void turn() {
        if (attached.isEmpty() || paused) {
            return;
        }
        Attached a = attached();
        output(a);
        a.chardev.resumeInput();
    }

    private void output(Attached a) {
        int cons = index(a, OUT_CONS);
        int waiting = index(a, OUT_PROD) - cons;
        if (waiting < 0 || waiting > OUT_BYTES) {
            // Indices that make no sense: what is in the ring is dropped.
            a.guestErrors.increment();
            Xen.INTS.setVolatile(a.page, OUT_CONS, index(a, OUT_PROD));
            return;
        }
        for (int i = 0; i < waiting; i++) {
            a.buffer[i] = a.page.get(ValueLayout.JAVA_BYTE, OUT + (cons + i & OUT_BYTES - 1));
        }
        int taken = waiting == 0 ? 0 : a.chardev.write(a.buffer, 0, waiting);
        if (taken > 0) {
            a.outBytes.add(taken);
            Xen.INTS.setVolatile(a.page, OUT_CONS, cons + taken);
            a.signal.run();
        }
    }

    private final class Input implements ChardevFrontend {
        @Override
        public int receivable() {
            if (attached.isEmpty() || paused) {
                return 0;
            }
            Attached a = attached();
            int used = index(a, IN_PROD) - index(a, IN_CONS);
            return used < 0 || used > IN_BYTES ? 0 : IN_BYTES - used;
        }

        @Override
        public void receive(byte[] buffer, int offset, int lengthBytes) {
            Attached a = attached();
            int prod = index(a, IN_PROD);
            for (int i = 0; i < lengthBytes; i++) {
                a.page.set(ValueLayout.JAVA_BYTE, IN + (prod + i & IN_BYTES - 1), buffer[offset + i]);
            }
            Xen.INTS.setVolatile(a.page, IN_PROD, prod + lengthBytes);
            a.inBytes.add(lengthBytes);
            a.signal.run();
        }

        @Override
        public void writable() {
            turn();
        }
    }

    @Override
    public void reset() {
        paused = false;
    }

    @Override
    public void pause() {
        Attached a = attached();
        a.context.eventLoop().call(() -> paused = true);
    }

    @Override
    public void resume() {
        paused = false;
        attached().doorbell.ring();
    }

    @Override
    public SavedState saveState() {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, id + ": a Xen domain cannot be saved");
    }

    @Override
    public void restoreState(SavedState state) {
        throw BenchtopException.of(ErrorKind.UNSUPPORTED, id + ": a Xen domain cannot be restored");
    }

    @Override
    public Map<String, Object> inspect() {
        Map<String, Object> map = new LinkedHashMap<>();
        attached.ifPresent(a -> map.put("chardev", a.chardev.describe()));
        return map;
    }

    @Override
    public void close() {
        attached.ifPresent(a -> {
            a.chardev.disconnect();
            a.doorbell.close();
        });
        attached = Optional.empty();
    }
}
