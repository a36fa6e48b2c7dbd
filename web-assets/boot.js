import { DamagedReport } from './core/damage.js';
import { handOver } from './core/handover.js';
import { measure } from './core/timing.js';
import { giveUp } from './view/giveup.js';
import { readMeta, readSections } from './view/sections.js';

/** Reads what is packed in the page, and starts the viewer, which is packed too. */
async function start() {
  const since = performance.now();
  const meta = readMeta();
  const sections = await readSections(meta, location.search.includes('fallback'));
  measure('inflate', since);
  const code = sections.get('CODE');
  if (code === undefined) throw new DamagedReport('the viewer is missing');
  sections.delete('CODE');
  handOver({ meta, sections });
  run(new TextDecoder().decode(code));
}

/**
 * Runs the viewer. The page's policy has its hash: the browser refuses any other text.
 * @param {string} code
 */
function run(code) {
  const script = document.createElement('script');
  script.type = 'module';
  script.textContent = code;
  script.addEventListener('securitypolicyviolation', () => giveUp(new DamagedReport('the viewer is not the one that it was made with')));
  document.body.append(script);
}

start().catch(giveUp);
