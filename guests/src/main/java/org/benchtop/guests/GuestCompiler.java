package org.benchtop.guests;

import org.benchtop.guests.compile.Compilation;
import org.benchtop.spi.BenchtopException;

/**
 * Compiles static Java methods from their class files to bare-metal x86-64.
 *
 * <p>What guest code may use is described in {@link org.benchtop.guests.lang.Guest}. Thread-safe; every call is
 * independent.
 */
public final class GuestCompiler {
    private GuestCompiler() {}

    /**
     * Compiles a program.
     *
     * @param source where class files come from; the runtime's own classes and the Java library are added to it
     * @param className binary name of the class with the entry method
     * @param methodName the entry method: static, no parameters, returning void or an {@code int} exit code
     * @throws BenchtopException of kind CONFIG, naming class, method, source line and construct, if the code uses
     *     something that guests cannot do
     */
    public static GuestImage compile(ClassSource source, String className, String methodName) {
        return Compilation.compile(source, className, methodName);
    }
}
