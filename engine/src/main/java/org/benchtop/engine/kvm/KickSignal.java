package org.benchtop.engine.kvm;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.benchtop.engine.linux.Errno;
import org.benchtop.engine.linux.LibC;
import org.benchtop.spi.BenchtopException;

/**
 * The real-time signal that makes KVM_RUN return. It has a handler that does nothing and restarts other system calls,
 * so that a signal that comes late is harmless.
 */
final class KickSignal {
    /** The JVM uses signal 62, libc 32 to 34; low real-time signals are the most likely to be taken by libraries. */
    private static final int FIRST = 40;

    private static final int LAST = 61;
    private static final long SIG_DFL = 0;
    private static final int SA_RESTART = 0x10000000;
    private static final long HANDLER_OFFSET = 0;
    private static final long FLAGS_OFFSET = 136;

    private static final int NUMBER = install();
    private static final int PROCESS_ID = LibC.getpid();

    private KickSignal() {}

    private static int install() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment action = arena.allocate(LibC.SIGACTION_BYTES, Long.BYTES);
            for (int signal = FIRST; signal <= LAST; signal++) {
                // SAFETY: sigaction fills the buffer of the size of its struct.
                Errno.checked("sigaction", LibC.sigaction(signal, 0, action.address()));
                if (action.get(ValueLayout.JAVA_LONG, HANDLER_OFFSET) != SIG_DFL) {
                    continue;
                }
                // SAFETY: a handler is a C function that takes the signal number in the first argument register and
                // is async-signal-safe: libc's int abs(int) is one that has no effect and lives as long as the process.
                long noEffect = Linker.nativeLinker()
                        .defaultLookup()
                        .find("abs")
                        .orElseThrow()
                        .address();
                action.fill((byte) 0);
                action.set(ValueLayout.JAVA_LONG, HANDLER_OFFSET, noEffect);
                action.set(ValueLayout.JAVA_INT, FLAGS_OFFSET, SA_RESTART);
                Errno.checked("sigaction", LibC.sigaction(signal, action.address(), 0));
                return signal;
            }
        }
        throw BenchtopException.host("no real-time signal between " + FIRST + " and " + LAST
                + " is free to interrupt vCPUs: all have handlers");
    }

    /** Makes sure that the calling platform thread takes the signal. */
    static void unblock() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(ValueLayout.JAVA_LONG);
            set.set(ValueLayout.JAVA_LONG, 0, 1L << (NUMBER - 1));
            // SAFETY: the set has the kernel's size of 8 bytes.
            Errno.checked("sigprocmask", LibC.pthreadSigmask(LibC.SIG_UNBLOCK, set.address(), 0));
        }
    }

    /** Sends the signal to a thread of this process that is known to be alive. */
    static void send(int threadId) {
        LibC.tgkill(PROCESS_ID, threadId, NUMBER);
    }
}
