/**
 * Tokens of TypeScript that do not depend on layout: no white space, comments, semicolons or trailing commas; strings
 * by value, whatever their quotes.
 */
export interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
}

const punctuators = [
  "...",
  "===",
  "!==",
  "**=",
  "<<=",
  "&&=",
  "||=",
  "??=",
  "=>",
  "==",
  "!=",
  "<=",
  ">=",
  "&&",
  "||",
  "??",
  "?.",
  "++",
  "--",
  "+=",
  "-=",
  "*=",
  "/=",
  "%=",
  "&=",
  "|=",
  "^=",
  "**",
  "<<"
]
const word = /[\p{ID_Start}$_#@][\p{ID_Continue}$]*/uy
const number = /(?:0[xob][\da-f_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d+)?)n?/iy
const blank = /(?:\s+|\/\/[^\n]*|\/\*[^]*?\*\/)+/y
const quoted = /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y
const pattern = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const templateText = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y

const at = (expression: RegExp, text: string, from: number): string | undefined => {
  expression.lastIndex = from
  return expression.exec(text)?.[0]
}

/** A slash starts a regular expression unless a value precedes it. */
const endsValue = (last: string | undefined): boolean =>
  last !== undefined &&
  /^[\p{ID_Continue}$_#"`)\]}]/u.test(last) &&
  !/^(?:return|typeof|case|in|of|yield|await|void|delete|instanceof|new|throw)$/.test(last)

const valueOf = (string: string): string => {
  const inner = string.slice(1, -1)
  return `"${string.startsWith("'") ? inner.replace(/\\'|"/g, (one) => (one === '"' ? '\\"' : "'")) : inner.replaceAll("\\'", "'")}"`
}

const allTokens = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  // Number of open braces in the expression of each open template literal.
  const templates: Array<number> = []
  let here = 0
  const push = (length: number, shown: string = text.slice(here, here + length)): void => {
    tokens.push({ text: shown, start: here, end: here + length })
    here += length
  }
  const pushTemplateText = (opening: number): void => {
    const length = opening + (at(templateText, text, here + opening) ?? "").length
    const ended = text[here + length] === "`"
    if (!ended) templates.push(0)
    push(length + (ended ? 1 : 2))
  }
  while (here < text.length) {
    const skipped = at(blank, text, here)
    if (skipped !== undefined) {
      here += skipped.length
      continue
    }
    const character = text[here]!
    const string = at(quoted, text, here)
    const expression = character === "/" && !endsValue(tokens.at(-1)?.text) ? at(pattern, text, here) : undefined
    const plain = at(word, text, here) ?? (/[\d.]/.test(character) ? at(number, text, here) : undefined)
    if (string !== undefined) push(string.length, valueOf(string))
    else if (character === "`") pushTemplateText(1)
    else if (character === "}" && templates.at(-1) === 0) {
      templates.pop()
      pushTemplateText(1)
    } else if (expression !== undefined) push(expression.length)
    else if (plain !== undefined && plain !== "") push(plain.length)
    else {
      if (character === "{" && templates.length > 0) templates[templates.length - 1]!++
      if (character === "}" && templates.length > 0) templates[templates.length - 1]!--
      push((punctuators.find((one) => text.startsWith(one, here)) ?? character).length)
    }
  }
  return tokens
}

/** Commas before closing brackets have no meaning, nor do semicolons outside the head of a `for`. */
export const tokensOf = (text: string): ReadonlyArray<Token> => {
  const tokens = allTokens(text)
  return tokens.filter(
    (token, at) => token.text !== ";" && !(token.text === "," && [")", "]", "}"].includes(tokens[at + 1]?.text ?? ""))
  )
}
