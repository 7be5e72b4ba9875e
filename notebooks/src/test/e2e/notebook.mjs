// Uses the classic notebook in a headless Chromium as a person would: run all, completion, documentation, interrupt.
// Usage: node notebook.mjs PLAYWRIGHT-FOLDER URL NOTEBOOK PICTURES-FOLDER
// Prints a line for every check; the exit code is 1 if one has failed. Pictures are kept whether it fails or not.
import { createRequire } from 'node:module';

const [playwright, url, notebook, pictures] = process.argv.slice(2);
const { chromium } = createRequire(`${playwright}/`)('playwright-core');
// Machines of continuous integration may be slow; nothing here waits longer than it must.
const TIMEOUT = 180_000;
let failures = 0;

function check(name, good, detail = '') {
  console.log(`${good ? 'ok  ' : 'FAIL'} ${name}${detail === '' ? '' : `: ${detail}`}`);
  failures += good ? 0 : 1;
}

// Runs in the page: adds a cell at the end, with the cursor behind its text.
function addCell(text) {
  const cell = Jupyter.notebook.insert_cell_at_bottom('code');
  cell.set_text(text);
  Jupyter.notebook.select(Jupyter.notebook.ncells() - 1);
  Jupyter.notebook.edit_mode();
  cell.focus_editor();
  const lines = text.split('\n');
  cell.code_mirror.setCursor(lines.length - 1, lines.at(-1).length);
}

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  timeout: TIMEOUT,
});
const page = await browser.newPage({ viewport: { width: 1200, height: 1500 } });
try {
  page.setDefaultTimeout(TIMEOUT);
  await page.goto(`${url}notebooks/${notebook}`);
  await page.waitForFunction(() => window.Jupyter?.notebook?._fully_loaded && Jupyter.notebook.kernel?.is_connected()
    && Jupyter.notebook.kernel.info_reply?.implementation === 'benchtop');
  check('the kernel is connected', true);

  await page.evaluate(() => Jupyter.notebook.execute_all_cells());
  await page.waitForFunction(() => Jupyter.notebook.get_cells().filter(cell => cell.cell_type === 'code')
    .every(cell => Number.isInteger(cell.input_prompt_number)));
  const failed = await page.evaluate(() => [...document.querySelectorAll('.output_error')].map(e => e.textContent));
  check('run all', failed.length === 0, failed.join('\n'));
  const shown = await page.evaluate(() => [...document.querySelectorAll('.output img')]
    .filter(image => image.complete && image.naturalWidth > 300).length);
  check('pictures are shown', shown >= 1, shown);
  check('tables are shown', await page.evaluate(() => document.querySelectorAll('.output table').length) >= 1);
  await page.evaluate(() => document.querySelector('.cell').scrollIntoView());
  await page.screenshot({ path: `${pictures}/run-all.png` });

  await page.evaluate(addCell, 'String completed = "x";\ncompleted.to');
  await page.keyboard.press('Tab');
  await page.waitForSelector('.completions');
  const choices = await page.textContent('.completions');
  check('completion pops up', choices.includes('toUpperCase'), choices.slice(0, 200));
  await page.screenshot({ path: `${pictures}/completion.png` });
  await page.keyboard.press('Escape');

  await page.evaluate(addCell, 'machine(');
  await page.keyboard.press('Shift+Tab');
  await page.waitForFunction(() => document.querySelector('.tooltiptext')?.textContent.length > 0);
  const told = await page.textContent('.tooltiptext');
  check('Shift-Tab shows our documentation', told.includes('nothing runs yet'), told.slice(0, 300));
  await page.screenshot({ path: `${pictures}/documentation.png` });
  await page.keyboard.press('Escape');
  await page.evaluate(() => Jupyter.notebook.delete_cells([Jupyter.notebook.ncells() - 1]));

  await page.evaluate(addCell, 'System.out.println("beg" + "un"); while (true) { }');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => [...document.querySelectorAll('.output_stdout')].at(-1)?.textContent.includes('begun'));
  await page.click('button[data-jupyter-action="jupyter-notebook:interrupt-kernel"]');
  await page.waitForFunction(() => document.querySelectorAll('.output_error').length > 0);
  const end = await page.evaluate(() => [...document.querySelectorAll('.output_error')].at(-1).textContent);
  check('interrupt', end.includes('the cell was stopped'), end.slice(0, 300));
  await page.evaluate(addCell, '40 + 2');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => [...document.querySelectorAll('.output_result')].at(-1)?.textContent.includes('42'));
  check('the kernel goes on', true);
  await page.screenshot({ path: `${pictures}/interrupted.png` });
} catch (e) {
  check('the session', false, String(e));
  await page.screenshot({ path: `${pictures}/failed.png` }).catch(() => {});
} finally {
  await browser.close();
}
process.exit(failures === 0 ? 0 : 1);
