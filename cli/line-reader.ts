/**
 * Lines of a stream. `node:readline` ends lines at U+2028 and U+2029, too, which JSON and names may hold as they are; so
 * everything that reads lines reads them here.
 */

/** `\n` alone ends a line. A last line without an end is one. */
export const linesIn = (input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> => partedAt(/\n/, input)
/** What scanners and people type: `\r` by itself ends a line as well, at once. */
export const typedLinesIn = (input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> =>
  partedAt(/[\r\n]/, input)

/** A line that comes in many parts is put together once. */
async function* partedAt(end: RegExp, input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let begun: Array<string> = []
  for await (const part of input) {
    const [first = "", ...rest] = (typeof part === "string" ? part : decoder.decode(part, { stream: true })).split(end)
    begun.push(first)
    for (const line of rest) {
      yield begun.join("")
      begun = [line]
    }
  }
  const last = begun.join("") + decoder.decode()
  if (last !== "") yield last
}
