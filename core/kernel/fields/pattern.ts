/**
 * Regular expressions people write themselves. The engine tries every way a text could match: a few signs too many, and
 * one value keeps it busy for hours. So the ways are counted before anything is tried.
 */
/** Ways tried in well under a second. */
const ways_max = 20_000_000
const source_length_max = 200

/**
 * The expression, plain or between slashes; undefined if it is invalid, or could take long on a text of `longest`
 * characters. Back references are refused: their cost cannot be bounded.
 */
export const patternFrom = (written: string, longest: number): RegExp | undefined => {
  const source = written.replace(/^\/(.*)\/[a-z]*$/, "$1")
  if (source.length > source_length_max) return undefined
  try {
    const pattern = new RegExp(source, "u")
    const ways = waysOf(source, longest)
    return ways !== undefined && ways <= ways_max ? pattern : undefined
  } catch {
    return undefined
  }
}

/** An upper bound of the ways a well-formed expression can be tried; undefined with back references. */
const waysOf = (source: string, longest: number): number | undefined => {
  let at = 0
  let referring = false

  const alternatives = (): number => {
    let ways = sequence()
    while (source[at] === "|") {
      at++
      ways += sequence()
    }
    return ways
  }
  const sequence = (): number => {
    let ways = 1
    while (at < source.length && source[at] !== "|" && source[at] !== ")") ways *= quantified(atom())
    return ways
  }
  const atom = (): number => {
    const char = source[at++]
    if (char === "[") {
      for (; source[at] !== "]"; at++) if (source[at] === "\\") at++
      at++
    } else if (char === "\\") {
      const next = source[at++]!
      if (/[1-9k]/.test(next)) referring = true
      if (source[at] === "{" && /[pPu]/.test(next)) at = source.indexOf("}", at) + 1
    } else if (char === "(") {
      at += /^\?(?:[:=!]|<[=!]|<[^>]*>)?/.exec(source.slice(at))?.[0].length ?? 0
      const ways = alternatives()
      at++
      return ways
    }
    return 1
  }
  const quantified = (once: number): number => {
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at))
    if (found === null) return once
    at += found[0].length
    const [, sign, from, comma, to] = found
    const least = sign === undefined ? Number(from) : sign === "+" ? 1 : 0
    const most =
      sign === "?" ? 1 : sign !== undefined || (comma === "," && to === "") ? longest : Number(to === "" ? from : to)
    // Each time round may go any of its ways, and it may stop after any time.
    return once === 1 ? Math.max(1, Math.min(most, longest) - least + 1) : (most - least + 1) * once ** most
  }

  const ways = alternatives()
  if (referring) return undefined
  // Without a beginning to hold on to it is tried from every character.
  return ways * (source.startsWith("^") && !source.includes("|") ? 1 : longest)
}
