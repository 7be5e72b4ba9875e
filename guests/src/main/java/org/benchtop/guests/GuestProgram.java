package org.benchtop.guests;

import java.util.List;
import org.benchtop.spi.guest.GuestProgramType;
import org.jspecify.annotations.Nullable;

/** A guest program that comes with Benchtop. Thread-safe. */
public final class GuestProgram implements GuestProgramType {
    private final String name;
    private final String summary;
    private final List<Parameter> parameters;
    private final String className;
    private @Nullable GuestImage image;

    GuestProgram(String name, String summary, String className, List<Parameter> parameters) {
        this.name = name;
        this.summary = summary;
        this.className = className;
        this.parameters = List.copyOf(parameters);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String summary() {
        return summary;
    }

    @Override
    public List<Parameter> parameters() {
        return parameters;
    }

    @Override
    public byte[] elf() {
        return PrebuiltPrograms.load(name).orElseGet(() -> image().elf().clone());
    }

    /** The program with its symbols and line table; compiled when it is first asked for, and then kept. */
    public synchronized GuestImage image() {
        GuestImage known = image;
        if (known == null) {
            known = GuestCompiler.compile(ClassSource.of(GuestProgram.class.getClassLoader()), className, "main");
            image = known;
        }
        return known;
    }
}
