import { byId } from './dom.js';

const MARGIN = 8;

/** The box that follows the pointer or the keyboard. */
export class TipBox {
  constructor() {
    this.box = byId('tip');
  }

  hide() {
    this.box.hidden = true;
  }

  /** @param {HTMLElement[]} lines */
  show(lines) {
    this.box.replaceChildren(...lines);
    this.box.hidden = false;
  }

  /**
   * Puts the box below right of a point, or where there is room.
   * @param {number} x
   * @param {number} y
   */
  place(x, y) {
    const { offsetWidth: width, offsetHeight: height, style } = this.box;
    const above = y - height - 12;
    const top = y + 16 + height + MARGIN > window.innerHeight && above > MARGIN ? above : y + 16;
    style.left = Math.max(MARGIN, Math.min(window.innerWidth - width - MARGIN, x + 12)) + 'px';
    style.top = Math.max(MARGIN, Math.min(window.innerHeight - height - MARGIN, top)) + 'px';
  }
}
