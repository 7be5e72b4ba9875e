package org.benchtop.engine.kvm;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.ErrorKind;

/** An open KVM device whose version and capabilities have been checked. Thread-safe. */
final class KvmSystem implements AutoCloseable {
    private static final int API_VERSION = 12;
    private static final int E2BIG = 7;
    private static final int CPUID_ENTRIES = 256;
    private static final int MAX_CPUID_ENTRIES = 4096;

    private final Path device;
    private final int fd;
    private final Map<KvmCap, Integer> capabilities;

    private KvmSystem(Path device, int fd, Map<KvmCap, Integer> capabilities) {
        this.device = device;
        this.fd = fd;
        this.capabilities = capabilities;
    }

    /**
     * Opens and checks a device.
     *
     * @throws BenchtopException of kind HOST with one line that says what is missing and what helps
     */
    static KvmSystem open(Path device) {
        if (!LibC.supported()) {
            throw BenchtopException.host("KVM needs Linux on x86-64; this is " + System.getProperty("os.name") + " on "
                    + System.getProperty("os.arch"));
        }
        int fd = LibC.open(device.toString(), LibC.O_RDWR | LibC.O_CLOEXEC, 0);
        if (fd < 0) {
            throw BenchtopException.host(openFailure(device, -fd));
        }
        try {
            int version = LibC.ioctl(fd, KvmIoctl.KVM_GET_API_VERSION, 0);
            if (version < 0) {
                throw BenchtopException.host(device + " is not a KVM device: " + Errno.describe(version));
            }
            if (version != API_VERSION) {
                throw BenchtopException.host(
                        device + " speaks KVM API version " + version + "; Benchtop needs " + API_VERSION);
            }
            Map<KvmCap, Integer> found = new EnumMap<>(KvmCap.class);
            List<String> missing = new ArrayList<>();
            for (KvmCap cap : KvmCap.values()) {
                int value = Math.max(0, LibC.ioctl(fd, KvmIoctl.KVM_CHECK_EXTENSION, cap.number));
                found.put(cap, value);
                if (cap.required && value == 0) {
                    missing.add("KVM_CAP_" + cap.name());
                }
            }
            if (!missing.isEmpty()) {
                throw BenchtopException.host(device + " lacks " + String.join(", ", missing));
            }
            return new KvmSystem(device, fd, found);
        } catch (RuntimeException e) {
            LibC.close(fd);
            throw e;
        }
    }

    private static String openFailure(Path device, int errno) {
        return switch (errno) {
            case Errno.ENOENT ->
                device + " does not exist: load the module kvm_intel or kvm_amd, and turn on virtualization in the"
                        + " firmware or, in a virtual machine, in its host";
            case Errno.EACCES, Errno.EPERM ->
                "no permission to open " + device + ": add your user to the group " + groupOf(device)
                        + " (sudo usermod -aG " + groupOf(device) + " $USER, then log in again) or run: sudo chmod 666 "
                        + device;
            case Errno.ENODEV, Errno.ENXIO -> device + " has no driver behind it: load the module kvm_intel or kvm_amd";
            default -> "cannot open " + device + ": " + Errno.describe(errno);
        };
    }

    private static String groupOf(Path device) {
        try {
            String group = Files.readAttributes(device, PosixFileAttributes.class)
                    .group()
                    .getName();
            return group.equals("root") ? "kvm" : group;
        } catch (IOException | UnsupportedOperationException e) {
            return "kvm";
        }
    }

    /** What was opened. */
    Path device() {
        return device;
    }

    /** The value of a capability; 0 if it is not there. */
    int value(KvmCap cap) {
        return capabilities.getOrDefault(cap, 0);
    }

    /** Whether a capability is there. */
    boolean has(KvmCap cap) {
        return value(cap) != 0;
    }

    /** The optional capabilities that are there. */
    List<String> capabilities() {
        List<String> labels = new ArrayList<>();
        for (KvmCap cap : KvmCap.values()) {
            if (!cap.required && has(cap)) {
                labels.add(cap.label());
            }
        }
        return labels;
    }

    /** How many vCPUs a VM may have. */
    int maxVcpus() {
        return Math.max(1, Math.max(value(KvmCap.MAX_VCPUS), value(KvmCap.NR_VCPUS)));
    }

    /** How many memory slots a VM may have. */
    int memorySlots() {
        return has(KvmCap.NR_MEMSLOTS) ? value(KvmCap.NR_MEMSLOTS) : 32;
    }

    String describe() {
        return device + " works: KVM API " + API_VERSION + ", up to " + maxVcpus() + " vCPUs and " + memorySlots()
                + " memory slots";
    }

    /** A new VM's descriptor. */
    int createVm() {
        int result;
        do {
            result = LibC.ioctl(fd, KvmIoctl.KVM_CREATE_VM, 0);
        } while (result == -Errno.EINTR);
        if (result == -Errno.EBUSY) {
            throw BenchtopException.host(
                    device
                            + " cannot create a VM: EBUSY: another hypervisor (VirtualBox, VMware) uses the CPU's virtualization");
        }
        return Errno.checkedInt(device + " cannot create a VM", result);
    }

    /** Closes a descriptor made here. */
    void closeFd(int vmFd) {
        LibC.close(vmFd);
    }

    /** The size of a vCPU's shared mapping. */
    int runMappingBytes() {
        return Errno.checkedInt("KVM_GET_VCPU_MMAP_SIZE", LibC.ioctl(fd, KvmIoctl.KVM_GET_VCPU_MMAP_SIZE, 0));
    }

    /** What KVM can show to a guest on this host. */
    CpuidTable supportedCpuid() {
        for (int capacity = CPUID_ENTRIES; ; capacity *= 2) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment table = CpuidTable.allocate(arena, capacity);
                int result = LibC.ioctl(fd, KvmIoctl.KVM_GET_SUPPORTED_CPUID, table.address());
                if (result == -E2BIG && capacity < MAX_CPUID_ENTRIES) {
                    continue;
                }
                Errno.checked("KVM_GET_SUPPORTED_CPUID", result);
                return CpuidTable.read(table);
            }
        }
    }

    /** The MSRs that make up a vCPU's state. */
    int[] msrIndices() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment head = arena.allocate(KvmMsrList.LAYOUT);
            int result = LibC.ioctl(fd, KvmIoctl.KVM_GET_MSR_INDEX_LIST, head.address());
            if (result != -E2BIG) {
                Errno.checked("KVM_GET_MSR_INDEX_LIST", result);
            }
            int count = KvmMsrList.nmsrs(head, 0);
            MemorySegment list = arena.allocate(KvmMsrList.SIZE + Integer.BYTES * (long) count, Integer.BYTES);
            KvmMsrList.nmsrs(list, 0, count);
            Errno.checked("KVM_GET_MSR_INDEX_LIST", LibC.ioctl(fd, KvmIoctl.KVM_GET_MSR_INDEX_LIST, list.address()));
            return list.asSlice(KvmMsrList.SIZE, Integer.BYTES * (long) KvmMsrList.nmsrs(list, 0))
                    .toArray(ValueLayout.JAVA_INT);
        }
    }

    /** An error of an option or a VM that this host cannot serve. */
    BenchtopException unsupported(String message) {
        return BenchtopException.of(ErrorKind.UNSUPPORTED, device + ": " + message);
    }

    @Override
    public void close() {
        LibC.close(fd);
    }
}
