/**
 * Lines and bytes of a stream. Not by `node:readline`, which also ends lines at U+2028 and U+2029, and JSON and names
 * may contain these.
 */
/** Chunks of a Node stream as bytes; throws for chunks that are neither bytes nor text. */
export async function* bytesOf(stream: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const part of stream) {
    if (part instanceof Uint8Array) yield part
    else if (typeof part === "string") yield Buffer.from(part)
    else throw new Error("the stream gives no bytes")
  }
}

/** Lines that end with `\n`; the last may have no end. */
export const linesIn = (input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> => partedAt(/\n/, input)
/** Lines from scanners and keyboards, which may also end with `\r`, without waiting for `\n`. */
export const typedLinesIn = (input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> =>
  partedAt(/[\r\n]/, input)

/** Splits a stream at line ends; lines that arrive in many chunks are joined once. */
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
