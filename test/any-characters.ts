import fc from "fast-check"

const surrogates = { first: 0xd800, many: 0x800 }
const characters = fc.oneof(
  fc.integer({ min: 0, max: 0xff }),
  fc.integer({ min: 0, max: 0x10_ffff - surrogates.many }).map((n) => (n < surrogates.first ? n : n + surrogates.many))
)
/**
 * All characters, with control characters and those beyond the basic plane. `fc.string({ unit: "binary" })` draws from
 * the same ones, but takes seconds to start.
 */
export const anyCharacters = (length: fc.ArrayConstraints = {}): fc.Arbitrary<string> =>
  fc.array(characters, length).map((codes) => String.fromCodePoint(...codes))
