import { DamagedReport } from '../core/damage.js';
import { inflateSection } from '../core/payload.js';

/** @typedef {import('../core/decode.js').Meta} Meta */

const SCHEMA = 1;

/** @returns {Meta} the facts about the capture that stand in the page as JSON */
export function readMeta() {
  const element = document.getElementById('data-META');
  if (element === null) throw new DamagedReport('the description of the data is missing');
  let meta;
  try {
    meta = JSON.parse(element.textContent ?? '');
  } catch {
    throw new DamagedReport('the description of the data is cut off');
  }
  if (meta.schema !== SCHEMA) throw new Error('its data have schema ' + meta.schema + ', this page reads schema ' + SCHEMA);
  return meta;
}

/**
 * Reads and decompresses all binary sections, the viewer's script among them.
 * @param {Meta} meta
 * @param {boolean} fallback use our own decoder even if the browser has one
 * @returns {Promise<Map<string, Uint8Array>>}
 */
export async function readSections(meta, fallback) {
  /** @type {Map<string, Uint8Array>} */
  const out = new Map();
  for (const [tag, length] of Object.entries(meta.sections)) out.set(tag, await inflateSection(tag, partsOf(tag), length, fallback));
  return out;
}

/**
 * Texts of a section's script elements; each is removed once read, so that its text can go.
 * @param {string} tag
 * @returns {Generator<string>}
 */
function* partsOf(tag) {
  const elements = document.querySelectorAll('script[data-section="' + tag + '"]');
  if (elements.length === 0) throw new DamagedReport('missing');
  for (const [i, element] of elements.entries()) {
    if (element.getAttribute('data-part') !== String(i)) throw new DamagedReport('part ' + i + ' is missing');
    const text = element.textContent ?? '';
    element.remove();
    yield text.trim();
  }
}
