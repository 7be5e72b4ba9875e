package org.benchtop.shell;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.benchtop.shell.qemu.QemuCommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchtop from-qemu}. */
@Command(
        name = "from-qemu",
        description = "Translate a QEMU command line to YAML; what is left out is said on standard error.",
        footer = {"", "benchtop from-qemu -- qemu-system-x86_64 -m 1G -kernel vmlinuz -append console=ttyS0"})
final class FromQemuCommand implements Callable<Integer> {
    @Spec
    CommandSpec command;

    @Parameters(arity = "1..*", paramLabel = "ARGS", description = "The command line, behind --.")
    List<String> words = new ArrayList<>();

    @Override
    public Integer call() {
        QemuCommandLine.Translation translation =
                words.size() == 1 ? QemuCommandLine.parse(words.getFirst()) : QemuCommandLine.translate(words);
        PrintWriter err = command.commandLine().getErr();
        translation.notes().forEach(note -> err.println("note: " + note));
        err.flush();
        PrintWriter out = command.commandLine().getOut();
        out.print(translation.spec().toYaml());
        out.flush();
        return 0;
    }
}
