/**
 * Regular expressions written by users. Backtracking may take exponential time, so the possible match attempts are
 * bounded before a pattern is used.
 */
/** Match attempts possible in well under a second. */
const ways_max = 20_000_000
const source_length_max = 200

/**
 * Compiles an expression, plain or between slashes; undefined if it is invalid, longer than 200 characters, has back
 * references (their cost cannot be bounded), or could be slow on a text of `longest` characters.
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

/** Upper bound of the match attempts of a valid expression; undefined with back references. */
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
    // Each repetition may take any of its alternatives, and repeating may stop after any of them.
    return once === 1 ? Math.max(1, Math.min(most, longest) - least + 1) : (most - least + 1) * once ** most
  }

  const ways = alternatives()
  if (referring) return undefined
  // Without an anchor, matching starts at every character.
  return ways * (source.startsWith("^") && !source.includes("|") ? 1 : longest)
}
