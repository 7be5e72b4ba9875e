/**
 * Fakes of everything that the SPI hands to a plugin, and contract suites for everything that a plugin hands back.
 *
 * <p>The fakes are plain and deterministic: nothing happens behind the test's back, no fake starts a thread, time moves
 * only when the test says so. The contract suites are JUnit 5 interfaces: implement one in a test class, supply the
 * subject, and every {@code @Test} of it runs.
 */
@NullMarked
package org.benchtop.testkit;

import org.jspecify.annotations.NullMarked;
