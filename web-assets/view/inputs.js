import { byId } from './dom.js';

/**
 * @param {string} id
 * @param {boolean} disabled
 */
export function disable(id, disabled) {
  /** @type {HTMLButtonElement} */ (byId(id)).disabled = disabled;
}

/**
 * @param {string} id
 * @returns {HTMLInputElement} select elements too have all that is used here
 */
export function inputById(id) {
  return /** @type {HTMLInputElement} */ (byId(id));
}
