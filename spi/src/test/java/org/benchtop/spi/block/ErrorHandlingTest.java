package org.benchtop.spi.block;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.benchtop.spi.event.EventLoop;
import org.junit.jupiter.api.Test;

final class ErrorHandlingTest {
    private final List<String> pauses = new ArrayList<>();

    private final BlockBackend backend = new BlockBackend() {
        @Override
        public BlockCapabilities capabilities() {
            throw new UnsupportedOperationException();
        }

        @Override
        public BlockQueue openQueue(EventLoop loop) {
            throw new UnsupportedOperationException();
        }

        @Override
        public String describe() {
            return "file disk.img";
        }

        @Override
        public void close() {}
    };

    private ErrorHandling handling(ErrorPolicy rerror, ErrorPolicy werror) {
        return new ErrorHandling("disk0", backend, rerror, werror, pauses::add);
    }

    @Test
    void readsFollowRerrorAndEverythingElseWerror() {
        ErrorHandling handling = handling(ErrorPolicy.IGNORE, ErrorPolicy.STOP);

        assertEquals(ErrorPolicy.Action.IGNORE, handling.onError(true, BlockStatus.IO_ERROR));
        assertEquals(ErrorPolicy.Action.STOP, handling.onError(false, BlockStatus.IO_ERROR));
    }

    @Test
    void whatCouldNeverSucceedIsAlwaysReported() {
        ErrorHandling handling = handling(ErrorPolicy.IGNORE, ErrorPolicy.STOP);

        assertEquals(ErrorPolicy.Action.REPORT, handling.onError(true, BlockStatus.OUT_OF_RANGE));
        assertEquals(ErrorPolicy.Action.REPORT, handling.onError(false, BlockStatus.READ_ONLY));
    }

    @Test
    void stopNamesTheDeviceTheRequestAndTheDrive() {
        ErrorHandling handling = handling(ErrorPolicy.REPORT, ErrorPolicy.ENOSPC);

        handling.stop("write 4096 bytes at sector 8", BlockStatus.NO_SPACE);
        handling.stop("read 512 bytes at sector 0", BlockStatus.IO_ERROR);

        assertEquals(
                List.of(
                        "disk0: no space left for write 4096 bytes at sector 8 (file disk.img)",
                        "disk0: I/O error in read 512 bytes at sector 0 (file disk.img)"),
                pauses);
    }
}
