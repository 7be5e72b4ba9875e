package org.benchtop.engine;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.benchtop.spi.block.BlockRequest;
import org.benchtop.spi.block.BlockStatus;

/** One request to a drive, for Java Flight Recorder. */
@Name("org.benchtop.BlockIo")
@Label("Block I/O")
@Category("Benchtop")
@StackTrace(false)
final class BlockIoEvent extends Event {
    @Label("Drive")
    private String drive = "";

    @Label("Operation")
    private String operation = "";

    @Label("Offset")
    @DataAmount
    private long offset;

    @Label("Length")
    @DataAmount
    private long length;

    @Label("Status")
    private String status = "";

    @Label("Latency")
    @Timespan(Timespan.NANOSECONDS)
    private long latency;

    static void emit(String drive, String operation, BlockRequest request, BlockStatus status, long nanos) {
        BlockIoEvent event = new BlockIoEvent();
        if (event.isEnabled()) {
            event.drive = drive;
            event.operation = operation;
            event.offset = request.offsetBytes();
            event.length = request.lengthBytes();
            event.status = status.name();
            event.latency = nanos;
            event.commit();
        }
    }
}
