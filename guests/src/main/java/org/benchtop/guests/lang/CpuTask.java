package org.benchtop.guests.lang;

/** Work for one CPU; in guest code only a reference to a static method or a lambda that captures nothing. */
@FunctionalInterface
public interface CpuTask {
    /** Runs on the CPU with the given index. */
    void run(int cpu);
}
