package org.benchtop.xen;

import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.benchtop.spi.memory.GuestFault;
import org.benchtop.spi.memory.GuestMemory;
import org.benchtop.spi.memory.MemoryRegion;
import org.benchtop.spi.stats.Counter;

/**
 * The calls of 64-bit guests (xen.h and the headers it names): number in RAX, arguments in RDI, RSI, RDX, R10 and R8.
 *
 * <p>Runs on the calling vCPU's thread. Arguments are copied out of guest memory once; what does not fit becomes an error
 * number.
 */
final class Hypercalls {
    private static final int MEMORY_OP = 12;
    private static final int SET_TIMER_OP = 15;
    private static final int XEN_VERSION = 17;
    private static final int CONSOLE_IO = 18;
    private static final int GRANT_TABLE_OP = 20;
    private static final int VCPU_OP = 24;
    private static final int SCHED_OP = 29;
    private static final int EVENT_CHANNEL_OP = 32;
    private static final int HVM_OP = 34;

    /** Longest line that console_io prints. */
    private static final int CONSOLE_BYTES = 1024;
    /** Entries of the memory map that are ever written. */
    private static final int MAP_ENTRIES = 16;

    private static final int MAP_ENTRY_BYTES = 20;
    /** The most extents that an operation may name. */
    private static final long MAX_EXTENTS = 1L << 32;

    private final XenPlatform platform;
    private final GuestMemory memory;
    private final EventChannels events;
    private final GrantTable grants;
    private final System.Logger logger;
    private final Counter calls;
    private final Counter unknown;
    private final Set<Long> reported = ConcurrentHashMap.newKeySet();

    Hypercalls(
            XenPlatform platform,
            GuestMemory memory,
            EventChannels events,
            GrantTable grants,
            System.Logger logger,
            Counter calls,
            Counter unknown) {
        this.platform = platform;
        this.memory = memory;
        this.events = events;
        this.grants = grants;
        this.logger = logger;
        this.calls = calls;
        this.unknown = unknown;
    }

    /** Carries out a call of a vCPU. */
    long call(int vcpu, CallMemory args, long number, long a0, long a1, long a2) {
        calls.increment();
        if (number < 0 || number > 63) {
            return notKnown(number, -1);
        }
        return switch ((int) number) {
            case MEMORY_OP -> memoryOp((int) a0, args, a1);
            case SET_TIMER_OP -> platform.timers().set(vcpu, a0);
            case XEN_VERSION -> version((int) a0, args, a1);
            case CONSOLE_IO -> consoleIo((int) a0, (int) a1, args, a2);
            case GRANT_TABLE_OP -> grantTableOp((int) a0, args, a1, (int) a2);
            case VCPU_OP -> vcpuOp((int) a0, (int) a1, args, a2);
            case SCHED_OP -> schedOp((int) a0, args, a1);
            case EVENT_CHANNEL_OP -> eventChannelOp(vcpu, (int) a0, args, a1);
            case HVM_OP -> hvmOp(vcpu, (int) a0, args, a1);
            default -> notKnown(number, -1);
        };
    }

    /** Says once that something is not there. */
    private long notKnown(long number, int command) {
        unknown.increment();
        // A hostile guest has a few thousand of them to try, not more.
        if (reported.size() < 4096 && reported.add(number << 32 | command & 0xffff_ffffL)) {
            logger.log(
                    Level.INFO,
                    "hypercall " + number + (command < 0 ? "" : " command " + command) + " is not there: -ENOSYS");
        }
        return Xen.ENOSYS;
    }

    private static boolean self(int domid) {
        return domid == Xen.DOMID_SELF || domid == Xen.DOMID;
    }

    // Memory.

    private long memoryOp(int command, CallMemory args, long at) {
        return switch (command & 0x3f) {
            // increase_reservation: the machine's memory is what it was given.
            case 0 -> args.in(at, 32) ? 0 : Xen.EFAULT;
            // decrease_reservation and populate_physmap: pages come and go without moving memory of the host.
            case 1, 6 -> extents(args, at);
            case 2 -> platform.maximumPage();
            case 3, 4 -> memory.sizeBytes() >>> Xen.PAGE_SHIFT;
            case 7 -> addToPhysmap(args, at);
            case 9 -> memoryMap(args, at);
            case 15 -> removeFromPhysmap(args, at);
            default -> notKnown(MEMORY_OP, command);
        };
    }

    private static long extents(CallMemory args, long at) {
        if (!args.in(at, 32)) {
            return Xen.EFAULT;
        }
        long count = args.longAt(8);
        return count < 0 || count > MAX_EXTENTS ? Xen.EINVAL : self(args.shortAt(24)) ? count : Xen.EPERM;
    }

    private long addToPhysmap(CallMemory args, long at) {
        if (!args.in(at, 24)) {
            return Xen.EFAULT;
        }
        if (!self(args.shortAt(0))) {
            return Xen.ESRCH;
        }
        int space = args.intAt(4);
        long index = args.longAt(8);
        long frame = args.longAt(16);
        if (frame < 0 || frame >>> 40 != 0) {
            return Xen.EINVAL;
        }
        return switch (space) {
            case 0 -> platform.mapSharedInfo(frame);
            case 1 ->
                index < 0 || index >= GrantTable.MAX_FRAMES
                        ? Xen.EINVAL
                        : platform.pages().mapGrants((int) index, frame);
            default -> notKnown(MEMORY_OP, 7 | space << 8);
        };
    }

    private long removeFromPhysmap(CallMemory args, long at) {
        if (!args.in(at, 16)) {
            return Xen.EFAULT;
        }
        return self(args.shortAt(0)) ? platform.pages().unmap(args.longAt(8)) : Xen.ESRCH;
    }

    private long memoryMap(CallMemory args, long at) {
        if (!args.in(at, 16)) {
            return Xen.EFAULT;
        }
        int room = Math.min(args.intAt(0), MAP_ENTRIES);
        long buffer = args.longAt(8);
        int count = 0;
        args.clear();
        for (MemoryRegion region : memory.regions()) {
            if (region.gpa() == 0) {
                count = mapEntry(args, count, 0, SharedPages.LOW_MEMORY_END, 1);
                count = mapEntry(args, count, SharedPages.LOW_MEMORY_END, SharedPages.HIGH_MEMORY, 2);
                count = mapEntry(args, count, SharedPages.HIGH_MEMORY, region.endGpa(), 1);
            } else {
                count = mapEntry(args, count, region.gpa(), region.endGpa(), 1);
            }
        }
        count = mapEntry(args, count, SharedPages.SPECIAL, SharedPages.SPECIAL_END, 2);
        int written = Math.min(Math.max(room, 0), count);
        if (!args.out(buffer, written * MAP_ENTRY_BYTES)) {
            return Xen.EFAULT;
        }
        args.intAt(0, written);
        return args.out(at, 4) ? 0 : Xen.EFAULT;
    }

    private static int mapEntry(CallMemory args, int index, long from, long to, int type) {
        args.longAt(index * MAP_ENTRY_BYTES, from);
        args.longAt(index * MAP_ENTRY_BYTES + 8, to - from);
        args.intAt(index * MAP_ENTRY_BYTES + 16, type);
        return index + 1;
    }

    // Version.

    private long version(int command, CallMemory args, long at) {
        args.clear();
        return switch (command) {
            case 0 -> platform.options().versionWord();
            case 1 -> text(args, at, ".0-benchtop", 16);
            case 2 -> {
                args.put(0, bytes("Benchtop"));
                yield args.out(at, 64 + 16 + 32 + 32) ? 0 : Xen.EFAULT;
            }
            case 3 -> text(args, at, capabilities(), 1024);
            case 4 -> text(args, at, "", 64);
            case 5 -> args.out(at, 8) ? 0 : Xen.EFAULT;
            case 6 -> features(args, at);
            case 7 -> Xen.PAGE_SIZE;
            case 8 -> {
                args.put(0, platform.uuid());
                yield args.out(at, 16) ? 0 : Xen.EFAULT;
            }
            case 9 -> text(args, at, "", 1024);
            default -> notKnown(XEN_VERSION, command);
        };
    }

    private String capabilities() {
        String version = platform.options().version();
        return "hvm-3.0-x86_32 hvm-3.0-x86_32p hvm-3.0-x86_64 " + "xen-" + version + "-x86_64";
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static long text(CallMemory args, long at, String text, int lengthBytes) {
        args.put(0, bytes(text));
        return args.out(at, lengthBytes) ? 0 : Xen.EFAULT;
    }

    private long features(CallMemory args, long at) {
        if (!args.in(at, 8)) {
            return Xen.EFAULT;
        }
        // Writable page tables, auto-translated physical map, callback by vector, clock that is safe in HVM guests.
        int map = 1 | 1 << 2 | 1 << 8 | 1 << 9;
        args.intAt(4, args.intAt(0) == 0 ? map : 0);
        return args.out(at, 8) ? 0 : Xen.EFAULT;
    }

    private long consoleIo(int command, int count, CallMemory args, long at) {
        if (command != 0) {
            return notKnown(CONSOLE_IO, command);
        }
        int length = Math.min(Math.max(count, 0), CONSOLE_BYTES);
        if (!args.in(at, length)) {
            return Xen.EFAULT;
        }
        platform.emergencyConsole(args.text(length));
        return length;
    }

    // Grant table.

    private long grantTableOp(int command, CallMemory args, long at, int count) {
        if (command != 6 && command != 8 && command != 10) {
            return notKnown(GRANT_TABLE_OP, command);
        }
        if (count != 1) {
            return count == 0 ? 0 : Xen.EINVAL;
        }
        switch (command) {
            case 6 -> {
                if (!args.in(at, 16)) {
                    return Xen.EFAULT;
                }
                boolean ours = self(args.shortAt(0));
                args.intAt(4, ours ? grants.frames() : 0);
                args.intAt(8, ours ? GrantTable.MAX_FRAMES : 0);
                // GNTST_okay, GNTST_bad_domain
                args.shortAt(12, ours ? 0 : -2);
                return args.out(at, 16) ? 0 : Xen.EFAULT;
            }
            case 8 -> {
                if (!args.in(at, 4)) {
                    return Xen.EFAULT;
                }
                int wanted = args.intAt(0);
                args.intAt(0, 1);
                if (!args.out(at, 4)) {
                    return Xen.EFAULT;
                }
                // As a hypervisor answers whose grant tables are limited to version 1.
                return wanted == 1 ? 0 : wanted == 2 ? Xen.ENOSYS : Xen.EINVAL;
            }
            default -> {
                if (!args.in(at, 8)) {
                    return Xen.EFAULT;
                }
                if (!self(args.shortAt(0))) {
                    return Xen.ESRCH;
                }
                args.intAt(4, 1);
                return args.out(at, 8) ? 0 : Xen.EFAULT;
            }
        }
    }

    // vCPUs.

    private boolean noVcpu(int vcpu) {
        return vcpu < 0 || vcpu >= platform.cpus();
    }

    private long vcpuOp(int command, int vcpu, CallMemory args, long at) {
        if (noVcpu(vcpu)) {
            return Xen.ENOENT;
        }
        VcpuTimers timers = platform.timers();
        return switch (command) {
            // is_up: HVM guests start their processors by the local APIC.
            case 3 -> 1;
            case 4 -> {
                timers.runstate(vcpu, args);
                yield args.out(at, VcpuTimers.RUNSTATE_BYTES) ? 0 : Xen.EFAULT;
            }
            case 5 -> {
                if (!args.in(at, 8)) {
                    yield Xen.EFAULT;
                }
                timers.runstate(vcpu, args, args.longAt(0));
                yield 0;
            }
            case 6 -> args.in(at, 8) ? timers.periodic(vcpu, args.longAt(0)) : Xen.EFAULT;
            case 7 -> timers.periodic(vcpu, 0);
            case 8 -> args.in(at, 16) ? timers.single(vcpu, args.longAt(0), (args.intAt(8) & 1) != 0) : Xen.EFAULT;
            case 9 -> timers.set(vcpu, 0);
            case 10 -> registerInfo(vcpu, args, at);
            case 13 -> args.in(at, 8) ? timers.registerTime(vcpu, args.longAt(0)) : Xen.EFAULT;
            default -> notKnown(VCPU_OP, command);
        };
    }

    private long registerInfo(int vcpu, CallMemory args, long at) {
        if (!args.in(at, 16)) {
            return Xen.EFAULT;
        }
        Optional<MemorySegment> place = place(args.longAt(0), args.intAt(8), VcpuInfos.SIZE);
        if (place.isEmpty()) {
            return Xen.EINVAL;
        }
        return platform.registerInfo(vcpu, place.get());
    }

    /** A structure inside a page of RAM, aligned so that it can be changed atomically. */
    private Optional<MemorySegment> place(long frame, int offset, int lengthBytes) {
        if (frame < 0 || frame >>> 40 != 0 || offset < 0 || (offset & 7) != 0 || offset > Xen.PAGE_SIZE - lengthBytes) {
            return Optional.empty();
        }
        try {
            return Optional.of(memory.slice((frame << Xen.PAGE_SHIFT) + offset, lengthBytes));
        } catch (GuestFault e) {
            return Optional.empty();
        }
    }

    // Scheduling.

    private long schedOp(int command, CallMemory args, long at) {
        switch (command) {
            // yield; block and poll, which may always return early: the guest looks again by itself.
            case 0, 1 -> {
                Thread.yield();
                return 0;
            }
            case 3 -> {
                Thread.yield();
                return args.in(at, 24) ? 0 : Xen.EFAULT;
            }
            case 2 -> {
                return args.in(at, 4) ? platform.shutdown(args.intAt(0)) : Xen.EFAULT;
            }
            default -> {
                return notKnown(SCHED_OP, command);
            }
        }
    }

    // Event channels.

    private long eventChannelOp(int caller, int command, CallMemory args, long at) {
        return switch (command) {
            // bind_interdomain: only backends are at the other end, and they bind themselves.
            case 0 -> args.in(at, 12) ? Xen.EINVAL : Xen.EFAULT;
            case 1 -> {
                if (!args.in(at, 12)) {
                    yield Xen.EFAULT;
                }
                yield portResult(events.bindVirq(args.intAt(0), args.intAt(4)), args, at, 8);
            }
            case 3 -> args.in(at, 4) ? events.close(args.intAt(0)) : Xen.EFAULT;
            case 4 -> args.in(at, 4) ? events.send(args.intAt(0)) : Xen.EFAULT;
            case 5 -> status(args, at);
            case 6 -> {
                if (!args.in(at, 8)) {
                    yield Xen.EFAULT;
                }
                if (!self(args.shortAt(0)) || args.shortAt(2) != 0) {
                    yield Xen.ESRCH;
                }
                yield portResult(events.allocateUnbound(), args, at, 4);
            }
            case 7 -> {
                if (!args.in(at, 8)) {
                    yield Xen.EFAULT;
                }
                yield portResult(events.bindIpi(args.intAt(0)), args, at, 4);
            }
            case 8 -> args.in(at, 8) ? events.bindVcpu(args.intAt(0), args.intAt(4)) : Xen.EFAULT;
            case 9 -> args.in(at, 4) ? events.unmask(args.intAt(0)) : Xen.EFAULT;
            case 10 -> {
                if (!args.in(at, 2)) {
                    yield Xen.EFAULT;
                }
                yield self(args.shortAt(0)) ? events.closeAll() : Xen.EPERM;
            }
            case 11 -> initControl(args, at);
            case 12 -> {
                if (!args.in(at, 8)) {
                    yield Xen.EFAULT;
                }
                Optional<MemorySegment> page = place(args.longAt(0), 0, Xen.PAGE_SIZE);
                yield page.isEmpty() ? Xen.EINVAL : events.expandArray(page.get());
            }
            case 13 -> args.in(at, 8) ? events.priority(args.intAt(0), args.intAt(4)) : Xen.EFAULT;
            default -> notKnown(EVENT_CHANNEL_OP, command);
        };
    }

    private static long portResult(long port, CallMemory args, long at, int offset) {
        if (port < 0) {
            return port;
        }
        args.intAt(offset, (int) port);
        return args.out(at + offset, offset, 4) ? 0 : Xen.EFAULT;
    }

    private long initControl(CallMemory args, long at) {
        if (!args.in(at, 24)) {
            return Xen.EFAULT;
        }
        Optional<MemorySegment> block = place(args.longAt(0), args.intAt(8), FifoEvents.CONTROL_BYTES);
        if (block.isEmpty()) {
            return Xen.EINVAL;
        }
        long result = events.initControl(args.intAt(12), block.get());
        if (result < 0) {
            return result;
        }
        args.put(16, new byte[] {FifoEvents.LINK_BITS});
        return args.out(at, 24) ? 0 : Xen.EFAULT;
    }

    private long status(CallMemory args, long at) {
        if (!args.in(at, 24)) {
            return Xen.EFAULT;
        }
        Optional<EventPort> port = events.port(args.intAt(4));
        if (port.isEmpty() || !self(args.shortAt(0))) {
            return port.isEmpty() ? Xen.EINVAL : Xen.ESRCH;
        }
        EventPort found = port.get();
        // EVTCHNSTAT_closed, unbound, interdomain, virq, ipi; of two domains, domain 0 is the other.
        args.intAt(
                8,
                switch (found.kind) {
                    case FREE -> 0;
                    case UNBOUND -> 1;
                    case INTERDOMAIN -> 2;
                    case VIRQ -> 4;
                    case IPI -> 5;
                });
        args.intAt(12, found.vcpu);
        args.intAt(16, found.kind == EventPort.Kind.VIRQ ? found.virq : 0);
        args.intAt(20, found.kind == EventPort.Kind.INTERDOMAIN ? found.number : 0);
        return args.out(at, 24) ? 0 : Xen.EFAULT;
    }

    // HVM.

    private long hvmOp(int caller, int command, CallMemory args, long at) {
        return switch (command) {
            case 0 -> {
                if (!args.in(at, 16)) {
                    yield Xen.EFAULT;
                }
                yield self(args.shortAt(0)) ? platform.setParameter(args.intAt(4), args.longAt(8)) : Xen.ESRCH;
            }
            case 1 -> {
                if (!args.in(at, 16)) {
                    yield Xen.EFAULT;
                }
                if (!self(args.shortAt(0)) || !platform.hasParameter(args.intAt(4))) {
                    yield self(args.shortAt(0)) ? Xen.EINVAL : Xen.ESRCH;
                }
                args.longAt(8, platform.parameter(args.intAt(4)));
                yield args.out(at, 16) ? 0 : Xen.EFAULT;
            }
            case 10 -> {
                args.longAt(0, platform.timers().now());
                yield args.out(at, 8) ? 0 : Xen.EFAULT;
            }
            case 23 -> args.in(at, 8) ? platform.upcallVector(args.intAt(0), args.byteAt(4)) : Xen.EFAULT;
            default -> notKnown(HVM_OP, command);
        };
    }

    @Override
    public String toString() {
        return "hypercalls" + Arrays.toString(reported.toArray());
    }
}
