package org.benchtop.xen;

import org.benchtop.spi.Option;

/** The options of {@code xen-console}. */
public record XenConsoleOptions(
        @Option(doc = "where the console's bytes go to and come from", ref = Option.Ref.CHARDEV)
        String chardev) {}
