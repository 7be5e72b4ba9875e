package org.benchtop.notebook.kernel;

import com.google.gson.JsonObject;
import org.benchtop.notebook.wire.Json;
import org.benchtop.notebook.wire.Request;
import org.jspecify.annotations.Nullable;

/**
 * A cell that is or was executed. Threads that a cell starts belong to it for good, so that what they print later is still
 * shown under it.
 */
final class Cell {
    private static final InheritableThreadLocal<@Nullable Cell> OWNER = new InheritableThreadLocal<>();
    private static volatile @Nullable Cell latest;

    private final Request request;
    private final int count;
    private final long sequence;
    private volatile boolean interrupted;

    Cell(Request request, int count, long sequence) {
        this.request = request;
        this.count = count;
        this.sequence = sequence;
    }

    /** The cell that the calling thread belongs to, otherwise the latest one. */
    static @Nullable Cell current() {
        Cell own = OWNER.get();
        return own == null ? latest : own;
    }

    /** Makes the calling thread work for this cell. */
    void enter() {
        latest = this;
        OWNER.set(this);
    }

    Request request() {
        return request;
    }

    /** The header that everything which the cell shows refers to. */
    JsonObject header() {
        return request.message().header();
    }

    /** The number in {@code In [n]}. */
    int count() {
        return count;
    }

    /** In which order requests were received. */
    long sequence() {
        return sequence;
    }

    String code() {
        return Json.string(request.message().content(), "code").orElse("");
    }

    Source source() {
        return new Source("cell " + count, code());
    }

    boolean silent() {
        return Json.bool(request.message().content(), "silent", false);
    }

    boolean storesHistory() {
        return !silent() && Json.bool(request.message().content(), "store_history", true);
    }

    boolean allowsInput() {
        return Json.bool(request.message().content(), "allow_stdin", true);
    }

    boolean stopsOnError() {
        return Json.bool(request.message().content(), "stop_on_error", true);
    }

    /** Marks that the user wants it to end. */
    void interrupt() {
        interrupted = true;
    }

    boolean interrupted() {
        return interrupted;
    }
}
