package org.benchtop.shell.lab;

import java.io.Serializable;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.FieldModel;
import java.lang.classfile.FieldTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.ConstantValueAttribute;
import java.lang.classfile.attribute.SourceFileAttribute;
import java.lang.classfile.instruction.LineNumber;
import java.lang.constant.ConstantDesc;
import java.lang.invoke.SerializedLambda;
import java.lang.reflect.AccessFlag;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.benchtop.guests.ClassSource;
import org.benchtop.guests.GuestCompiler;
import org.benchtop.guests.GuestImage;
import org.benchtop.shell.jshell.SnippetNames;
import org.benchtop.spi.BenchtopException;
import org.benchtop.spi.guest.GuestProgramType;

/**
 * A guest program compiled from Java that was typed in a cell or script. Immutable.
 *
 * <p>The program sees variables of JShell with the values that they had when it was compiled; what it writes to them
 * stays in the guest.
 */
public final class GuestCode implements GuestProgramType {
    /** The package of JShell's classes. */
    private static final String CELLS = "REPL/";

    private final String name;
    private final GuestImage image;

    private GuestCode(String name, GuestImage image) {
        this.name = name;
        this.image = image;
    }

    static GuestCode compile(String name, Serializable lambda) {
        SerializedLambda form = form(lambda);
        if (form.getCapturedArgCount() > 0) {
            throw BenchtopException.config("guest program " + name + " uses " + form.getCapturedArgCount()
                    + " local variable(s) or \"this\" from around it; make them static fields or constants");
        }
        ClassLoader loader = lambda.getClass().getClassLoader();
        return new GuestCode(name, image(loader, form.getImplClass().replace('/', '.'), form.getImplMethodName()));
    }

    /** Compiles a static method without parameters. */
    static GuestCode compile(String name, Class<?> type, String method) {
        ClassLoader loader = Optional.ofNullable(type.getClassLoader()).orElse(ClassLoader.getSystemClassLoader());
        return new GuestCode(name, image(loader, type.getName(), method));
    }

    private static GuestImage image(ClassLoader loader, String type, String method) {
        ClassSource files = ClassSource.of(loader);
        try {
            return GuestCompiler.compile(withLiveValues(files, loader), type, method);
        } catch (BenchtopException e) {
            BenchtopException plain =
                    BenchtopException.of(e.kind(), SnippetNames.plain(e.getMessage()), e.context(), e.getCause());
            plain.setStackTrace(Stream.concat(place(e, files).stream(), Arrays.stream(e.getStackTrace()))
                    .toArray(StackTraceElement[]::new));
            throw plain;
        }
    }

    /** Where the mistake is, as if it had been made while the method ran: JShell and its front ends know such lines. */
    private static Optional<StackTraceElement> place(BenchtopException e, ClassSource files) {
        if (e.context().get("class") instanceof String type
                && type.startsWith(CELLS.replace('/', '.'))
                && e.context().get("line") instanceof Integer line) {
            String method = String.valueOf(e.context().get("method"));
            return files.classFile(type.replace('.', '/'))
                    .map(bytes -> linesBefore(ClassFile.of().parse(bytes)))
                    .map(before -> new StackTraceElement(type, method, SnippetNames.SOURCE, line + before));
        }
        return Optional.empty();
    }

    private static SerializedLambda form(Serializable lambda) {
        try {
            Method writeReplace = lambda.getClass().getDeclaredMethod("writeReplace");
            writeReplace.setAccessible(true);
            if (writeReplace.invoke(lambda) instanceof SerializedLambda form) {
                return form;
            }
        } catch (ReflectiveOperationException e) {
            throw BenchtopException.of(
                    org.benchtop.spi.ErrorKind.CONFIG,
                    "a guest program is a lambda or method reference, not an object of "
                            + lambda.getClass().getName(),
                    e);
        }
        throw BenchtopException.config("a guest program is a lambda or method reference");
    }

    private static ClassSource withLiveValues(ClassSource source, ClassLoader loader) {
        return internalName -> {
            Optional<byte[]> original = source.classFile(internalName);
            return internalName.startsWith(CELLS) ? original.map(bytes -> live(bytes, internalName, loader)) : original;
        };
    }

    /**
     * JShell sets a variable in a method of its own; here the value becomes the field's initial one. Lines are counted from
     * the first one that was typed.
     */
    private static byte[] live(byte[] original, String internalName, ClassLoader loader) {
        ClassFile classFile = ClassFile.of();
        ClassModel model = classFile.parse(original);
        Map<String, ConstantDesc> values = new TreeMap<>();
        for (FieldModel field : model.fields()) {
            if (field.flags().has(AccessFlag.STATIC) && field.fieldTypeSymbol().isPrimitive()) {
                value(internalName, field.fieldName().stringValue(), loader)
                        .ifPresent(value -> values.put(field.fieldName().stringValue(), value));
            }
        }
        int before = linesBefore(model);
        ClassTransform lines = ClassTransform.transformingMethodBodies((builder, element) -> {
            if (element instanceof LineNumber line) {
                builder.lineNumber(line.line() - before);
            } else {
                builder.with(element);
            }
        });
        ClassTransform fields = ClassTransform.ofStateful(() -> (builder, element) -> {
            if (element instanceof FieldModel field
                    && values.get(field.fieldName().stringValue()) instanceof ConstantDesc value) {
                builder.transformField(
                        field, FieldTransform.endHandler(one -> one.with(ConstantValueAttribute.of(value))));
            } else if (element instanceof SourceFileAttribute) {
                builder.with(SourceFileAttribute.of(SnippetNames.SOURCE));
            } else {
                builder.with(element);
            }
        });
        return classFile.transformClass(model, lines.andThen(fields));
    }

    /** How many lines JShell has put in front of what was typed: a class starts at the line of its constructor. */
    private static int linesBefore(ClassModel model) {
        int first = Integer.MAX_VALUE;
        for (MethodModel method : model.methods()) {
            for (CodeElement element :
                    method.code().stream().flatMap(CodeModel::elementStream).toList()) {
                if (element instanceof LineNumber line) {
                    first = Math.min(first, line.line());
                }
            }
        }
        return first == Integer.MAX_VALUE ? 0 : first - 1;
    }

    private static Optional<ConstantDesc> value(String internalName, String field, ClassLoader loader) {
        try {
            Field reflected =
                    Class.forName(internalName.replace('/', '.'), false, loader).getDeclaredField(field);
            reflected.setAccessible(true);
            Object value = reflected.get(null);
            if (value instanceof Boolean truth) {
                return Optional.of(truth ? 1 : 0);
            }
            if (value instanceof Character character) {
                return Optional.of((int) character);
            }
            if (value instanceof Byte || value instanceof Short) {
                return Optional.of(((Number) value).intValue());
            }
            return value instanceof ConstantDesc constant ? Optional.of(constant) : Optional.empty();
        } catch (ReflectiveOperationException e) {
            return Optional.empty();
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String summary() {
        return "compiled from a cell or script";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of();
    }

    @Override
    public byte[] elf() {
        return image.elf().clone();
    }

    /** Code, symbols and line table. */
    public GuestImage image() {
        return image;
    }

    /** The address of a method or static field, found by a part of its name that only one symbol has. */
    public long address(String symbol) {
        List<Map.Entry<String, Long>> found = image.symbols().entrySet().stream()
                .filter(e -> e.getKey().equals(symbol)
                        || e.getKey().contains("." + symbol + "(")
                        || e.getKey().endsWith("." + symbol))
                .toList();
        if (found.size() == 1) {
            return found.getFirst().getValue();
        }
        throw BenchtopException.config(
                found.isEmpty()
                        ? "guest program " + name + " has no symbol \"" + symbol + "\""
                        : "\"" + symbol + "\" is several symbols of guest program " + name + ": "
                                + String.join(
                                        ", ",
                                        found.stream()
                                                .map(Map.Entry::getKey)
                                                .sorted()
                                                .toList()));
    }

    @Override
    public String toString() {
        return "guest program " + name + " (" + image.elf().length + " bytes, "
                + image.symbols().size() + " symbols)";
    }
}
