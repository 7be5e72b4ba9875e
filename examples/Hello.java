import java.util.Map;
import org.benchtop.engine.Machine;
import org.benchtop.engine.config.MachineSpec;
import org.benchtop.engine.plugin.PluginRegistry;

// ./benchtop java examples/Hello.java
void main() throws Exception {
    var spec = MachineSpec.named("hello")
            .guest("hello", "")
            .chardev("tty0", "stdio", Map.of())
            .device("isa-serial", Map.of("chardev", "tty0"))
            .build();
    try (var plugins = PluginRegistry.builtIn();
            var vm = Machine.create(spec, plugins)) {
        vm.start();
        IO.println(vm.awaitExit().describe());
        IO.println(vm.stats().value("vcpu0", "exits") + " exits on " + vm.accelerator());
    }
}
