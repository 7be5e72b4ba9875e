/** How the lab's objects look in notebooks: text, HTML, SVG and PNG. */
@NullMarked
package org.benchtop.notebook.render;

import org.jspecify.annotations.NullMarked;
