package org.benchtop.guests.compile;

import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.FieldModel;
import java.lang.classfile.MethodModel;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A parsed class file that a guest program uses. */
final class ClassUnit {
    private final String internalName;
    private final String sourceFile;
    private final Map<String, MethodModel> methods = new HashMap<>();
    private final Map<String, FieldModel> fields = new HashMap<>();

    /** Classes that methods of this one refer to; they are initialised first. */
    final Set<ClassUnit> references = new LinkedHashSet<>();

    ClassUnit(String internalName, byte[] classFile) {
        this.internalName = internalName;
        ClassModel model = ClassFile.of().parse(classFile);
        this.sourceFile = model.findAttribute(Attributes.sourceFile())
                .map(attribute -> attribute.sourceFile().stringValue())
                .orElse("");
        model.methods()
                .forEach(method -> methods.put(
                        method.methodName().stringValue() + method.methodType().stringValue(), method));
        model.fields().forEach(field -> fields.put(field.fieldName().stringValue(), field));
    }

    String internalName() {
        return internalName;
    }

    String binaryName() {
        return internalName.replace('/', '.');
    }

    /** Name of the source file, or empty if the class file does not say. */
    String sourceFile() {
        return sourceFile;
    }

    Optional<MethodModel> method(String nameAndDescriptor) {
        return Optional.ofNullable(methods.get(nameAndDescriptor));
    }

    Optional<FieldModel> field(String name) {
        return Optional.ofNullable(fields.get(name));
    }

    /** The only method of that name; empty if there is none or more than one. */
    Optional<MethodModel> onlyMethod(String name) {
        MethodModel[] found = methods.values().stream()
                .filter(method -> method.methodName().equalsString(name))
                .toArray(MethodModel[]::new);
        return found.length == 1 ? Optional.of(found[0]) : Optional.empty();
    }
}
