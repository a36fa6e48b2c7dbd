import { reasonOf } from '../core/damage.js';
import { byId, make } from './dom.js';

/**
 * Says in place of the report why there is none.
 * @param {unknown} error
 */
export function giveUp(error) {
  const reason = reasonOf(error);
  // By name: each of the page's two scripts has a class of its own.
  const damaged = error instanceof Error && error.name === 'DamagedReport';
  const text = damaged
    ? 'This report file is damaged or incomplete (' + reason + '). Make the report again, or get a fresh copy of the file.'
    : 'This report could not be shown: ' + reason;
  byId('report').hidden = true;
  const box = byId('loading');
  box.hidden = false;
  box.className = 'damaged';
  box.setAttribute('role', 'alert');
  box.replaceChildren(make('p', text));
  if (!damaged) console.error(error);
}
