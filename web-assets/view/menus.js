import { all, byId } from './dom.js';

/** Menus close when something else is used; help is a dialog. */
export function connectMenus() {
  const menus = /** @type {HTMLDetailsElement[]} */ (all('details.menu'));
  document.addEventListener('pointerdown', (event) => {
    for (const menu of menus) if (!menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
  });
  for (const menu of menus) {
    menu.addEventListener('focusout', (event) => {
      if (event.relatedTarget !== null && !menu.contains(/** @type {Node} */ (event.relatedTarget))) menu.open = false;
    });
  }
  byId('help-button').addEventListener('click', showHelp);
}

export function showHelp() {
  /** @type {HTMLDialogElement} */ (byId('help')).showModal();
}

/** @returns {boolean} whether a menu was open, which is closed now */
export function closeMenu() {
  const menu = /** @type {HTMLDetailsElement | null} */ (document.querySelector('details.menu[open]'));
  if (menu === null) return false;
  menu.open = false;
  /** @type {HTMLElement} */ (menu.firstElementChild).focus();
  return true;
}
