package org.benchtop.shell.jshell;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Label;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.LookupSwitchInstruction;
import java.lang.classfile.instruction.TableSwitchInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.HashSet;
import java.util.Set;

/**
 * Makes the class files of cells fit to run inside Benchtop: every loop and call can be stopped, and ending the process
 * is the front end's decision.
 */
final class CellWeaver {
    private static final ClassDesc CHECKS = CellChecks.class.describeConstable().orElseThrow();
    private static final MethodTypeDesc INT_TO_VOID = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int);
    private static final ClassDesc RUNTIME = ClassDesc.of("java.lang.Runtime");

    private final ClassFile classFile;
    private final boolean stoppable;

    /**
     * @param cells where class files of cells are found, to merge types at joins of control flow
     * @param stoppable whether checks are put in; loops that the JIT would vectorise run up to three times as long with
     *     them
     */
    CellWeaver(ClassLoader cells, boolean stoppable) {
        this.stoppable = stoppable;
        classFile = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(
                ClassHierarchyResolver.ofResourceParsing(cells).orElse(ClassHierarchyResolver.defaultResolver())));
    }

    byte[] weave(byte[] original) {
        ClassModel model = classFile.parse(original);
        return classFile.transformClass(
                model, ClassTransform.transformingMethodBodies(CodeTransform.ofStateful(Weaving::new)));
    }

    /** One method. */
    private final class Weaving implements CodeTransform {
        private final Set<Label> seen = new HashSet<>();

        @Override
        public void atStart(CodeBuilder builder) {
            check(builder);
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            switch (element) {
                case LabelTarget target -> {
                    seen.add(target.label());
                    builder.with(element);
                }
                case BranchInstruction branch -> {
                    if (seen.contains(branch.target())) {
                        check(builder);
                    }
                    builder.with(element);
                }
                case TableSwitchInstruction table -> {
                    check(builder);
                    builder.with(element);
                }
                case LookupSwitchInstruction lookup -> {
                    check(builder);
                    builder.with(element);
                }
                case InvokeInstruction call -> invoke(builder, call);
                default -> builder.with(element);
            }
        }

        private void check(CodeBuilder builder) {
            if (stoppable) {
                builder.invokestatic(CHECKS, "stopCheck", ConstantDescs.MTD_void);
            }
        }

        private void invoke(CodeBuilder builder, InvokeInstruction call) {
            String owner = call.owner().asInternalName();
            String name = call.name().stringValue();
            boolean intToVoid = call.typeSymbol().equals(INT_TO_VOID);
            if (intToVoid && owner.equals("java/lang/System") && name.equals("exit")) {
                builder.invokestatic(CHECKS, "systemExit", INT_TO_VOID);
            } else if (intToVoid
                    && call.opcode() == Opcode.INVOKEVIRTUAL
                    && owner.equals("java/lang/Runtime")
                    && (name.equals("exit") || name.equals("halt"))) {
                builder.invokestatic(CHECKS, "runtimeExit", INT_TO_VOID.insertParameterTypes(0, RUNTIME));
            } else {
                builder.with(call);
            }
        }
    }
}
