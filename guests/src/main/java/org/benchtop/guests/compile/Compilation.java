package org.benchtop.guests.compile;

import java.lang.classfile.MethodModel;
import java.lang.reflect.AccessFlag;
import java.util.function.Supplier;
import org.benchtop.guests.ClassSource;
import org.benchtop.guests.GuestImage;
import org.benchtop.spi.BenchtopException;

/** The whole way from class files to an image. */
public final class Compilation {
    private static final String RUNTIME = "org/benchtop/guests/rt/";

    private Compilation() {}

    /**
     * Compiles {@code className.methodName} and everything it needs.
     *
     * @throws BenchtopException CONFIG, naming method, line and construct, if the program is not valid guest code
     */
    public static GuestImage compile(ClassSource source, String className, String methodName) {
        String internalName = className.replace('.', '/');
        ClassUnit root = new ClassUnit(
                internalName,
                source.classFile(internalName)
                        .orElseThrow(() -> BenchtopException.config("guest class " + className + " not found")));
        MethodModel entry = root.onlyMethod(methodName)
                .filter(method -> method.methodType().equalsString("()I")
                        || method.methodType().equalsString("()V"))
                .filter(method -> method.flags().has(AccessFlag.STATIC))
                .orElseThrow(
                        () -> BenchtopException.config("guest class " + className + " needs one method \"static int "
                                + methodName + "()\" or \"static void " + methodName + "()\""));
        ClassSource complete = source.orElse(ClassSource.of(Compilation.class.getClassLoader()));
        Program program = new Program(complete, root);
        String entryType = entry.methodType().stringValue();
        String entrySymbol = program.methodSymbol(internalName, methodName, entryType, missing(className));
        String start = program.methodSymbol(RUNTIME + "Start", "start", "(I)V", missing(RUNTIME));
        String trap = program.methodSymbol(RUNTIME + "Traps", "trap", "(J)V", missing(RUNTIME));
        program.compileAll();
        program.alias(Monitor.START, start);
        program.alias(Monitor.TRAP, trap);
        return Linker.link(program, program.initializers(root), entrySymbol, entryType.endsWith("I"));
    }

    private static Supplier<RuntimeException> missing(String what) {
        return () -> BenchtopException.config("guest class " + what + " not found");
    }
}
