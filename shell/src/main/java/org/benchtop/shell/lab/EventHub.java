package org.benchtop.shell.lab;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.benchtop.engine.Machine;
import org.benchtop.engine.MachineObserver;
import org.benchtop.engine.MachineState;
import org.benchtop.engine.bus.RangeMap;
import org.benchtop.spi.block.BlockStatus;
import org.benchtop.spi.bus.AddressSpace;

/** Counts what a machine's vCPUs access, and tells streams of events while there are any. */
final class EventHub implements MachineObserver {
    private final Machine machine;
    private final AccessTable[] tables;
    private final CopyOnWriteArrayList<EventStream> streams = new CopyOnWriteArrayList<>();

    EventHub(Machine machine) {
        this.machine = machine;
        tables = new AccessTable[machine.vcpus().size()];
        for (int i = 0; i < tables.length; i++) {
            tables[i] = new AccessTable();
        }
    }

    List<AccessTable> tables() {
        return List.of(tables);
    }

    void add(EventStream stream) {
        streams.add(stream);
    }

    void remove(EventStream stream) {
        streams.remove(stream);
    }

    void close() {
        streams.forEach(EventStream::close);
    }

    String owner(AddressSpace space, long address) {
        RangeMap map = space == AddressSpace.PIO ? machine.pioMap() : machine.mmioMap();
        return map.at(address).map(RangeMap.Range::owner).orElse("");
    }

    private void tell(VmEvent event) {
        streams.forEach(stream -> stream.offer(event));
    }

    @Override
    public void access(int vcpu, AddressSpace space, boolean write, long address, int size, long value) {
        tables[vcpu].count(space, write, address);
        if (!streams.isEmpty()) {
            tell(new VmEvent.Access(
                    System.nanoTime(), vcpu, space, write, address, size, value, owner(space, address)));
        }
    }

    @Override
    public void blockIo(
            String drive, String operation, long offset, long length, BlockStatus status, long latencyNanos) {
        if (!streams.isEmpty()) {
            tell(new VmEvent.BlockIo(System.nanoTime(), drive, operation, offset, length, status, latencyNanos));
        }
    }

    @Override
    public void state(MachineState state) {
        if (!streams.isEmpty()) {
            tell(new VmEvent.State(System.nanoTime(), state));
        }
    }

    @Override
    public void reset() {
        if (!streams.isEmpty()) {
            tell(new VmEvent.Reset(System.nanoTime()));
        }
    }
}
