@NullMarked
package org.benchtop.testkit;

import org.jspecify.annotations.NullMarked;
