/** Results as terminal table, JSON, CSV and HTML. */
@NullMarked
package org.benchtop.bench.report;

import org.jspecify.annotations.NullMarked;
