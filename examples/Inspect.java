import static org.benchtop.shell.lab.Lab.*;

import java.time.Duration;

// ./benchtop java examples/Inspect.java
void main() throws Exception {
    try (var vm = boot("""
            name: inspect
            memory: 64MiB
            boot: { guest: hello }
            """)) {
        var khz = vm.console().expect("TSC: (\\d+) kHz", Duration.ofSeconds(60)).group(1);
        IO.println("the guest's clock runs at " + khz + " kHz");
        IO.println(vm.awaitExit(Duration.ofSeconds(60)).describe());
        IO.println(vm.regs());
        IO.println(vm.exits());
    }
}
