// ./benchtop shell examples/guest-in-a-cell.jsh: Java that is typed here runs on the bare virtual machine.
import org.benchtop.guests.rt.Console

int n = 20

long fib(int k) {
    return k < 2 ? k : fib(k - 1) + fib(k - 2);
}

var program = guest("fib", () -> {
    Console.printDecimal(fib(n));
    Console.newLine();
})

var vm = boot(program)
System.out.println(vm.awaitExit(Duration.ofSeconds(60)).describe())
var result = vm.console().expect("(\\d+)").group(1)
if (!result.equals("6765")) {
    throw new IllegalStateException("fib(20) is not " + result);
}
System.out.println("fib(" + n + ") = " + result + " (computed by the guest)")
vm.close()
