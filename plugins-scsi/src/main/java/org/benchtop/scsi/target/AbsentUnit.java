package org.benchtop.scsi.target;

import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.event.EventLoop;
import org.benchtop.spi.scsi.ScsiCommand;
import org.benchtop.spi.stats.Counter;
import org.benchtop.spi.stats.LatencyHistogram;
import org.benchtop.spi.stats.Stats;

/** Answers where no logical unit is (SAM-5, 5.11): INQUIRY says so, REPORT LUNS works, all else is refused. */
final class AbsentUnit extends LogicalUnit {
    private static final int BLOCK_BYTES = 512;

    /** Counts nothing: nobody can look at it. */
    private static final class NoStats implements Stats {
        @Override
        public Counter counter(String name, String unit) {
            return new Counter() {
                @Override
                public void add(long delta) {}

                @Override
                public long value() {
                    return 0;
                }
            };
        }

        @Override
        public LatencyHistogram histogram(String name) {
            return nanos -> {};
        }

        @Override
        public void gauge(String name, String unit, java.util.function.LongSupplier value) {}
    }

    AbsentUnit(String target) {
        super(target);
    }

    @Override
    Operation.Unit kind() {
        return Operation.Unit.DISK;
    }

    @Override
    int blockBytes() {
        return BLOCK_BYTES;
    }

    @Override
    UnitPort openPort(EventLoop loop) {
        return new UnitPort(this, loop, null, new NoStats());
    }

    @Override
    void perform(Task task, Operation operation) {
        task.check(Sense.LOGICAL_UNIT_NOT_SUPPORTED);
    }

    @Override
    void prepareMedium(ScsiCommand command, Operation operation) {}

    @Override
    byte[] standardInquiry() {
        byte[] data = new byte[36];
        // Not capable of supporting a device here.
        data[0] = 0x7f;
        data[2] = 6;
        data[3] = 2;
        data[4] = (byte) (data.length - 5);
        return data;
    }

    @Override
    byte[] vitalProductData(int page) {
        return new byte[0];
    }

    @Override
    int[] vitalProductPages() {
        return new int[] {0};
    }

    @Override
    void resetState(boolean powerOn) {}

    @Override
    boolean conflicts(Operation operation, byte[] cdb, int initiator) {
        return false;
    }

    @Override
    void forget(int initiator) {}

    @Override
    ErrorPolicy.Action onError(boolean read, BlockStatus status) {
        return ErrorPolicy.Action.REPORT;
    }

    @Override
    void stopMachine(String request, BlockStatus why) {}
}
