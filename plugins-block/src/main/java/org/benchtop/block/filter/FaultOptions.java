package org.benchtop.block.filter;

import java.util.List;
import java.util.Optional;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.BlockStatus;

/** Options of {@code fault}. */
public record FaultOptions(
        @Option(doc = "The drive that seems to fail.", ref = Option.Ref.DRIVE)
        String drive,

        @Option(doc = "What goes wrong; the first rule that matches a request counts.")
        List<Rule> rules,

        @Option(doc = "Seed of rules with a probability.", value = "1")
        long seed) {

    public FaultOptions {
        rules = List.copyOf(rules);
    }

    /** The kind of request that a rule is for. */
    public enum Op {
        /** Every kind. */
        ANY,
        /** Reads. */
        READ,
        /** Writes. */
        WRITE,
        /** Flushes. */
        FLUSH,
        /** Discards. */
        DISCARD,
        /** Write-zeroes. */
        WRITE_ZEROES,
    }

    /** What is really done. */
    public enum Effect {
        /** What was asked for. */
        FULL,
        /** Nothing: data of a write is lost, a read leaves its buffer alone, a flush makes nothing durable. */
        NONE,
        /** The first blocks of a read or write only: see {@code bytes}. */
        TORN,
        /** What was asked for, with one bit of the data of a read flipped. */
        CORRUPT,
    }

    /** What is reported. */
    public enum Result {
        /** All is well. */
        OK,
        /** An I/O error. */
        IO_ERROR,
        /** No space left. */
        NO_SPACE;

        BlockStatus status() {
            return switch (this) {
                case OK -> BlockStatus.OK;
                case IO_ERROR -> BlockStatus.IO_ERROR;
                case NO_SPACE -> BlockStatus.NO_SPACE;
            };
        }
    }

    /** One way to go wrong. */
    public record Rule(
            @Option(doc = "Kind of request.", value = "any") Op op,

            @Option(
                    doc = "Start of the range that a request must touch.",
                    value = "0",
                    min = 0,
                    unit = Option.Unit.BYTES)
            long offset,

            @Option(doc = "Length of that range; to the end unless given.", min = 1, unit = Option.Unit.BYTES)
            Optional<Long> length,

            @Option(doc = "Matching requests to let pass first.", value = "0", min = 0)
            long after,

            @Option(doc = "Of the following ones, every n-th is hit.", value = "1", min = 1)
            long every,

            @Option(doc = "Requests to hit; all unless given.", min = 1)
            Optional<Long> count,

            @Option(doc = "How likely a request that would be hit is.", value = "1", min = 0, max = 1)
            double probability,

            @Option(
                    doc = "Time before the request is carried out.",
                    value = "0",
                    min = 0,
                    max = 3_600_000_000_000L,
                    unit = Option.Unit.NANOSECONDS)
            long delay,

            @Option(doc = "What is really done; full if the result is ok, else none.")
            Optional<Effect> effect,

            @Option(doc = "What is reported; io-error unless there is a delay or an effect.")
            Optional<Result> result,

            @Option(
                    doc = "For effect: torn: how much is transferred, in whole blocks.",
                    value = "512",
                    min = 0,
                    unit = Option.Unit.BYTES)
            long bytes) {
        public Rule {
            if (effect.isPresent()
                    && (effect.get() == Effect.TORN || effect.get() == Effect.CORRUPT)
                    && op != Op.READ
                    && op != Op.WRITE) {
                throw new IllegalArgumentException("effect: torn and corrupt need op: read or op: write");
            }
            if (effect.isPresent() && effect.get() == Effect.CORRUPT && op != Op.READ) {
                throw new IllegalArgumentException("effect: corrupt needs op: read");
            }
        }

        /** What is reported. */
        Result reported() {
            return result.orElse(delay > 0 || effect.isPresent() ? Result.OK : Result.IO_ERROR);
        }

        /** What is done. */
        Effect done() {
            return effect.orElse(reported() == Result.OK ? Effect.FULL : Effect.NONE);
        }
    }
}
