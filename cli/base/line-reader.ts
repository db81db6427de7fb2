/**
 * Lines and bytes of a stream. `node:readline` also ends lines at U+2028 and U+2029, which JSON and names may contain, so
 * all lines are read here.
 */
/** The bytes of a stream of Node's, part by part. */
export async function* bytesOf(stream: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const part of stream) {
    if (part instanceof Uint8Array) yield part
    else if (typeof part === "string") yield Buffer.from(part)
    else throw new Error("the stream gives no bytes")
  }
}

/** `\n` alone ends a line. A last line without an end is one. */
export const linesIn = (input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> => partedAt(/\n/, input)
/** Lines that scanners and people type: a `\r` alone ends one too, without waiting for more. */
export const typedLinesIn = (input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> =>
  partedAt(/[\r\n]/, input)

/** Splits a stream at line ends; a line that arrives in many parts is joined once. */
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
