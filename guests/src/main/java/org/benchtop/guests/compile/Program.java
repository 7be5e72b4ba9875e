package org.benchtop.guests.compile;

import java.lang.classfile.Attributes;
import java.lang.classfile.MethodModel;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.benchtop.guests.ClassSource;
import org.benchtop.spi.BenchtopException;

/** Everything that one guest program consists of: collects methods, fields, texts and memory as they are referred to. */
final class Program {
    /** Symbols of the thunks that run the class initialisers and the entry method. */
    static final String INITIALIZERS = "initializers";

    static final String ENTRY = "entry";

    /** Zeroed or initialised memory of the image. */
    record Area(String symbol, int sizeBytes, int alignment, long initialValue) {}

    private record Pending(ClassUnit unit, MethodModel model, String symbol) {}

    private final ClassSource source;
    private final Map<String, ClassUnit> units = new HashMap<>();
    private final Map<String, String> methodSymbols = new HashMap<>();
    private final Deque<Pending> queue = new ArrayDeque<>();
    private final Map<String, Area> areas = new LinkedHashMap<>();
    private final Map<String, String> textSymbols = new LinkedHashMap<>();
    private final Map<String, String> texts = new HashMap<>();
    private final List<CodeBlob> blobs = new ArrayList<>();
    private final Map<String, String> places = new HashMap<>();
    private final Map<String, String> aliases = new LinkedHashMap<>();
    private final Map<String, StackValue> constantFields = new HashMap<>();
    private final Map<String, String> callers = new HashMap<>();
    private final Map<String, MethodTypeDesc> methodTypes = new HashMap<>();
    private final Set<ClassUnit> started = new LinkedHashSet<>();
    private ClassUnit compiling;

    Program(ClassSource source, ClassUnit root) {
        this.source = source;
        this.compiling = root;
        units.put(root.internalName(), root);
    }

    ClassUnit root() {
        return compiling;
    }

    /** Compiles everything reachable from what has been asked for so far. */
    void compileAll() {
        while (!queue.isEmpty()) {
            compile(queue.remove());
        }
    }

    private void compile(Pending next) {
        ClassUnit outer = compiling;
        compiling = next.unit;
        blobs.add(Emitter.emit(Translator.translate(this, next.unit, next.model, next.symbol)));
        places.put(
                next.symbol,
                next.unit.binaryName() + "." + next.model.methodName().stringValue() + "("
                        + (next.unit.sourceFile().isEmpty() ? "unknown source" : next.unit.sourceFile()));
        compiling = outer;
    }

    /** Initialisers are compiled at the first mention of their class, so that its constants are known to its users. */
    private void compileInitializer(ClassUnit unit, MethodModel model) {
        String symbol = unit.binaryName() + ".<clinit>()V";
        methodSymbols.put(unit.internalName() + ".<clinit>()V", symbol);
        compile(new Pending(unit, model, symbol));
    }

    /** The value of a static final field that its initialiser sets to a constant or an address. */
    Optional<StackValue> constantField(String owner, String name) {
        return Optional.ofNullable(constantFields.get(owner.replace('/', '.') + "." + name));
    }

    /**
     * Makes a static final field a constant.
     *
     * @return false if the field has been read already, and so needs a place in memory
     */
    boolean declareConstant(ClassUnit unit, String name, StackValue value) {
        String symbol = unit.binaryName() + "." + name;
        boolean fresh = !areas.containsKey(symbol)
                && unit.field(name)
                        .filter(field -> field.flags().has(AccessFlag.FINAL))
                        .isPresent();
        if (fresh) {
            constantFields.put(symbol, value);
        }
        return fresh;
    }

    List<CodeBlob> blobs() {
        return blobs;
    }

    Map<String, Area> areas() {
        return areas;
    }

    /** Gives a second name to a symbol. */
    void alias(String name, String symbol) {
        aliases.put(name, symbol);
    }

    Map<String, String> aliases() {
        return aliases;
    }

    /** Texts by symbol. */
    Map<String, String> texts() {
        return texts;
    }

    /** {@code "package.Class.method(File.java"} of a method symbol. */
    String place(String methodSymbol) {
        return places.getOrDefault(methodSymbol, methodSymbol + "(");
    }

    /** Symbols of the class initialisers to run, those of referenced classes first. */
    List<String> initializers(ClassUnit root) {
        List<String> order = new ArrayList<>();
        visit(root, new LinkedHashSet<>(), order);
        return order;
    }

    private void visit(ClassUnit unit, Set<ClassUnit> visited, List<String> order) {
        if (!visited.add(unit)) {
            return;
        }
        unit.references.forEach(reference -> visit(reference, visited, order));
        String symbol = methodSymbols.get(unit.internalName() + ".<clinit>()V");
        if (symbol != null) {
            order.add(symbol);
        }
    }

    /** The class, which from now on is part of the program. */
    ClassUnit unit(String internalName, Supplier<RuntimeException> missing) {
        ClassUnit known = units.get(internalName);
        if (known == null) {
            known = new ClassUnit(internalName, source.classFile(internalName).orElseThrow(missing));
            units.put(internalName, known);
        }
        ClassUnit unit = known;
        if (unit != compiling) {
            compiling.references.add(unit);
        }
        if (started.add(unit) && !internalName.startsWith("java/")) {
            unit.method("<clinit>()V").ifPresent(model -> compileInitializer(unit, model));
        }
        return unit;
    }

    private String enqueue(ClassUnit unit, MethodModel model) {
        String signature = model.methodName().stringValue() + model.methodType().stringValue();
        return methodSymbols.computeIfAbsent(unit.internalName() + "." + signature, key -> {
            String symbol = unit.binaryName() + "." + signature;
            queue.add(new Pending(unit, model, symbol));
            return symbol;
        });
    }

    /** A parsed method descriptor. */
    MethodTypeDesc methodType(String descriptor) {
        return methodTypes.computeIfAbsent(descriptor, MethodTypeDesc::ofDescriptor);
    }

    /** The symbol of a method, which will be compiled too. */
    String methodSymbol(String owner, String name, String descriptor, Supplier<RuntimeException> missing) {
        ClassUnit unit = unit(owner, missing);
        MethodModel model = unit.method(name + descriptor)
                .filter(method -> method.code().isPresent())
                .orElseThrow(missing);
        return enqueue(unit, model);
    }

    /** Remembers who first called a method of the Java library, for error messages. */
    void noteCaller(String methodSymbol, Supplier<String> caller) {
        if (methodSymbol.startsWith("java.")) {
            callers.computeIfAbsent(methodSymbol, symbol -> caller.get());
        }
    }

    /** Who called a method of the Java library; empty if unknown. */
    String caller(String methodSymbol) {
        return callers.getOrDefault(methodSymbol, "");
    }

    String fieldSymbol(
            String owner, String name, String descriptor, int sizeBytes, Supplier<RuntimeException> missing) {
        ClassUnit unit = unit(owner, missing);
        String symbol = unit.binaryName() + "." + name;
        if (!areas.containsKey(symbol)) {
            long initial = unit.field(name)
                    .filter(field -> field.fieldType().equalsString(descriptor)
                            && field.flags().has(AccessFlag.STATIC))
                    .orElseThrow(missing)
                    .findAttribute(Attributes.constantValue())
                    .map(value -> value.constant().constantValue() instanceof Number number ? number.longValue() : 0L)
                    .orElse(0L);
            areas.put(symbol, new Area(symbol, sizeBytes, sizeBytes, initial));
        }
        return symbol;
    }

    String textSymbol(String text) {
        return textSymbols.computeIfAbsent(text, key -> {
            String symbol = "text." + textSymbols.size();
            texts.put(symbol, key);
            return symbol;
        });
    }

    /** The text of a symbol; empty if it is not the symbol of a text. */
    Optional<String> text(String symbol) {
        return Optional.ofNullable(texts.get(symbol));
    }

    String reserve(String name, int sizeBytes, int alignment) {
        String symbol = name.isEmpty() ? "reserved." + areas.size() : name;
        Area area = new Area(symbol, sizeBytes, alignment, 0);
        Area former = areas.putIfAbsent(symbol, area);
        if (former != null && !former.equals(area)) {
            throw BenchtopException.config("guest memory \"" + symbol + "\" is reserved twice, with different sizes");
        }
        return symbol;
    }
}
