/** What cells use to show things; works with objects that render for IJava and JJava. */
@NullMarked
package org.benchtop.notebook.display;

import org.jspecify.annotations.NullMarked;
