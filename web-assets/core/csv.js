/**
 * @param {(string | number)[][]} lines
 * @returns {string}
 */
export function csvText(lines) {
  return lines.map((line) => line.map(csvField).join(',') + '\r\n').join('');
}

/**
 * @param {string | number} value
 * @returns {string}
 */
function csvField(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}
