package org.benchtop.virtio.blk;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.benchtop.spi.Option;
import org.benchtop.spi.block.ErrorPolicy;
import org.benchtop.spi.pci.PciAddress;
import org.benchtop.virtio.pci.VirtioPciOptions;
import org.jspecify.annotations.Nullable;

/** The options of {@code virtio-blk-pci}. */
public record VirtioBlkPciOptions(
        @Option(doc = "the drive that stores the disk", ref = Option.Ref.DRIVE)
        String drive,

        @Option(
                doc = "the iothread that does the disk's work; without one the machine's main loop does",
                ref = Option.Ref.IOTHREAD)
        Optional<String> iothread,

        @Option(doc = "request queues", value = "1", min = 1, max = 64)
        int queues,

        @Option(doc = "entries of each queue: a power of two", value = "256", min = 4, max = 1024)
        int queueSize,

        @Option(doc = "most buffers in one request; as many as fit into the queue unless given", min = 1, max = 1022)
        Optional<Integer> segMax,

        @Option(doc = "serial number: at most 20 ASCII characters", value = "")
        String serial,

        @Option(doc = "refuse writes even if the drive could take them", value = "off")
        boolean readOnly,

        @Option(doc = "let the guest switch between write-back and write-through", value = "on")
        boolean configWce,

        @Option(doc = "offer discard where the drive does something with it", value = "on")
        boolean discard,

        @Option(doc = "offer write-zeroes", value = "on") boolean writeZeroes,

        @Option(
                doc = "take notifications without a vCPU exit; off: the vCPU that notifies runs the queue itself",
                value = "on")
        boolean ioeventfd,

        @Option(doc = "offer suppression of interrupts and notifications by index", value = "on")
        boolean eventIdx,

        @Option(doc = "offer indirect descriptors", value = "on")
        boolean indirectDesc,

        @Option(doc = "PCI slot in hex, such as 4 or 0x1f.3; the next free one unless given")
        Optional<String> addr,

        @Option(doc = "smallest request; the drive's unless given", min = 512, max = 32768, unit = Option.Unit.BYTES)
        Optional<Integer> logicalBlockSize,

        @Option(
                doc = "smallest request without read-modify-write; the drive's unless given",
                min = 512,
                max = 1 << 20,
                unit = Option.Unit.BYTES)
        Optional<Integer> physicalBlockSize,

        @Option(
                doc = "iothreads for single queues, such as [{iothread: io0, vqs: [0, 2]}, {iothread: io1, vqs: [1]}];"
                        + " without vqs the queues are dealt round",
                value = "[]")
        List<IothreadMapping> iothreadVqMapping,

        @Option(doc = "what to do when the host cannot read", value = "report")
        ErrorPolicy rerror,

        @Option(
                doc = "what to do when the host cannot write, flush or discard; enospc stops when space has run out",
                value = "enospc")
        ErrorPolicy werror,

        @Option(doc = "place in the firmware's boot order, lowest first; after all others unless given", min = 0)
        Optional<Integer> bootindex) {

    /** Queues that an iothread works for. */
    public record IothreadMapping(
            @Option(doc = "the iothread", ref = Option.Ref.IOTHREAD)
            String iothread,

            @Option(doc = "indexes of its queues", value = "[]")
            List<Integer> vqs) {
        public IothreadMapping {
            vqs = List.copyOf(vqs);
        }
    }

    public VirtioBlkPciOptions {
        if (Integer.bitCount(queueSize) != 1) {
            throw new IllegalArgumentException("queue-size must be a power of two: " + queueSize);
        }
        if (segMax.isPresent() && segMax.get() > queueSize - 2) {
            throw new IllegalArgumentException("seg-max " + segMax.get() + " does not fit into queue-size " + queueSize
                    + ": at most " + (queueSize - 2));
        }
        if (serial.length() > BlkHeader.VIRTIO_BLK_ID_BYTES
                || !StandardCharsets.US_ASCII.newEncoder().canEncode(serial)) {
            throw new IllegalArgumentException("serial must be at most 20 ASCII characters: \"" + serial + "\"");
        }
        requirePowerOfTwo("logical-block-size", logicalBlockSize);
        requirePowerOfTwo("physical-block-size", physicalBlockSize);
        addr.ifPresent(PciAddress::parse);
        iothreadVqMapping = List.copyOf(iothreadVqMapping);
        if (!iothreadVqMapping.isEmpty()) {
            if (iothread.isPresent()) {
                throw new IllegalArgumentException("iothread and iothread-vq-mapping exclude each other");
            }
            queueIothreads(iothreadVqMapping, queues);
        }
    }

    /** The iothread of every queue; empty without a mapping. */
    List<String> queueIothreads() {
        return iothreadVqMapping.isEmpty() ? List.of() : queueIothreads(iothreadVqMapping, queues);
    }

    private static List<String> queueIothreads(List<IothreadMapping> mappings, int queues) {
        boolean dealt = mappings.stream().allMatch(mapping -> mapping.vqs().isEmpty());
        @Nullable String[] names = new String[queues];
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < mappings.size(); i++) {
            IothreadMapping mapping = mappings.get(i);
            if (!seen.add(mapping.iothread())) {
                throw new IllegalArgumentException(
                        "iothread-vq-mapping names iothread \"" + mapping.iothread() + "\" twice");
            }
            if (!dealt && mapping.vqs().isEmpty()) {
                throw new IllegalArgumentException(
                        "iothread-vq-mapping: give vqs for every iothread or for none; they are missing for \""
                                + mapping.iothread() + "\"");
            }
            for (int queue : mapping.vqs()) {
                if (queue < 0 || queue >= queues) {
                    throw new IllegalArgumentException(
                            "iothread-vq-mapping: queue " + queue + " is outside 0.." + (queues - 1));
                }
                if (names[queue] != null) {
                    throw new IllegalArgumentException("iothread-vq-mapping: queue " + queue + " is there twice");
                }
                names[queue] = mapping.iothread();
            }
        }
        if (dealt && mappings.size() > queues) {
            throw new IllegalArgumentException("iothread-vq-mapping has " + mappings.size() + " iothreads for " + queues
                    + " queues: raise queues");
        }
        List<String> all = new ArrayList<>();
        for (int queue = 0; queue < queues; queue++) {
            @Nullable
            String name = dealt ? mappings.get(queue % mappings.size()).iothread() : names[queue];
            if (name == null) {
                throw new IllegalArgumentException("iothread-vq-mapping: queue " + queue + " has no iothread");
            }
            all.add(name);
        }
        return all;
    }

    private static void requirePowerOfTwo(String option, Optional<Integer> value) {
        if (value.isPresent() && Integer.bitCount(value.get()) != 1) {
            throw new IllegalArgumentException(option + " must be a power of two: " + value.get());
        }
    }

    /** Options for a drive with all defaults. */
    static VirtioBlkPciOptions of(String drive) {
        return new VirtioBlkPciOptions(
                drive,
                Optional.empty(),
                1,
                256,
                Optional.empty(),
                "",
                false,
                true,
                true,
                true,
                true,
                true,
                true,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                ErrorPolicy.REPORT,
                ErrorPolicy.ENOSPC,
                Optional.empty());
    }

    VirtioPciOptions pci() {
        return new VirtioPciOptions(addr.map(PciAddress::parse), ioeventfd, eventIdx, indirectDesc, bootindex);
    }

    VirtioBlkOptions blk() {
        return new VirtioBlkOptions(
                queues,
                queueSize,
                toInt(segMax),
                serial,
                readOnly,
                configWce,
                discard,
                writeZeroes,
                toInt(logicalBlockSize),
                toInt(physicalBlockSize),
                rerror,
                werror);
    }

    private static OptionalInt toInt(Optional<Integer> value) {
        return value.isPresent() ? OptionalInt.of(value.get()) : OptionalInt.empty();
    }
}
