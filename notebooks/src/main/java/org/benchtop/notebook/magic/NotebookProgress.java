package org.benchtop.notebook.magic;

import org.benchtop.bench.experiment.CaseSpec;
import org.benchtop.bench.run.RunListener;
import org.benchtop.bench.run.RunRecord;
import org.benchtop.notebook.display.Jupyter;
import org.benchtop.notebook.display.Progress;
import org.jspecify.annotations.Nullable;

/** Measurements fill a bar under the cell that measures. */
final class NotebookProgress implements RunListener {
    private @Nullable Progress bar;

    @Override
    public synchronized void planned(int total, int alreadyDone) {
        bar = Jupyter.progress("measuring", total);
        bar.at(alreadyDone);
    }

    @Override
    public synchronized void finished(int number, CaseSpec spec, RunRecord run) {
        if (bar != null) {
            bar.at(number);
        }
    }

    @Override
    public void notice(String text) {
        System.out.println(text);
    }

    @Override
    public synchronized void ended() {
        if (bar != null) {
            bar.close();
            bar = null;
        }
    }
}
