// ./benchtop shell examples/inspect.jsh: boots a guest and looks into the machine.
var vm = machine("""
    name: inspect
    memory: 64MiB
    boot: { guest: diskcheck, cmdline: seconds=0 }
    drives:
      disk0: { type: memory, size: 8MiB }
    devices:
      - { type: virtio-blk-pci, drive: disk0 }
    """)

System.out.println(vm.disasm(4))
System.out.println("after one step: " + vm.step().changed() + " changed")

vm.resume()
vm.console().expect("verified|TSC|kHz|diskcheck", Duration.ofSeconds(60))
System.out.println(vm.awaitExit(Duration.ofSeconds(60)).describe())
System.out.println(vm.exits())
System.out.println(vm.queues())
System.out.println(vm.pci())
vm.close()
