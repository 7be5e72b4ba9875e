package org.benchtop.pc.chardev;

import java.util.Optional;
import org.benchtop.testkit.ChardevContract;
import org.benchtop.testkit.FakeEventLoop;

class NullChardevTest implements ChardevContract {
    @Override
    public Subject subject() {
        return new Subject(new NullChardev(), new FakeEventLoop(), Optional.empty(), Optional.empty());
    }
}
