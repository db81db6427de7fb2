/** Escapes text for HTML. */
const signs: { readonly [sign: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}
/** Text escaped for content and quoted attributes; control characters and lone surrogates become U+FFFD. */
export const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (sign) => signs[sign] ?? "")
