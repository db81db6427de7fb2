// Turns the bundled modules in out/ into what load.mjs loads: modules in out/parts become scripts that are one function.
import { createHash } from "node:crypto"
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { posix } from "node:path"
import { minifySync, parseSync, Visitor } from "rolldown/utils"

const textOf = (node) => node.name ?? JSON.stringify(node.value)
const renamed = (from, to) => (from === to ? from : `${from}:${to}`)
const builtin = (name) => `process.getBuiltinModule(${JSON.stringify(name)})`

/** Variables of a module that are exported and declared by `let` or `var`. */
const exportedVariables = ({ body }) => {
  const exported = new Set(body.flatMap(({ specifiers = [] }) => specifiers.map(({ local }) => local.name)))
  const declared = body.flatMap(({ declarations = [], kind }) => (kind === "const" ? [] : declarations))
  return new Set(declared.flatMap(({ id }) => (exported.has(id.name) ? [id.name] : [])))
}
/** Plugin that fails if a function assigns a variable its module exports: importers take values once. */
export const exports_assigned_once = {
  name: "exports-assigned-once",
  renderChunk(code, { fileName }) {
    const { program } = parseSync(fileName, code)
    const exported = exportedVariables(program)
    let depth = 0
    const begin = () => void depth++
    const end = () => void depth--
    const refuse = ({ name }) => {
      if (depth > 0 && exported.has(name)) throw new Error(`${fileName} exports ${name}, and assigns it again`)
    }
    new Visitor({
      ArrowFunctionExpression: begin,
      "ArrowFunctionExpression:exit": end,
      FunctionExpression: begin,
      "FunctionExpression:exit": end,
      FunctionDeclaration: begin,
      "FunctionDeclaration:exit": end,
      AssignmentExpression: ({ left }) => refuse(left),
      UpdateExpression: ({ argument }) => refuse(argument)
    }).visit(program)
    return null
  }
}

const inFolderOf = (file, name) => posix.join(posix.dirname(file), name)
/**
 * The part that holds a module which only names members of that part for `import()`, and those members by both names;
 * undefined for others.
 */
const namesFor = (file, { body }) => {
  const imported = new Map()
  const named = []
  for (const node of body) {
    if (node.type === "ImportDeclaration" && node.source.value.startsWith("./"))
      for (const { imported: own, local } of node.specifiers) imported.set(local.name, [node.source.value, textOf(own)])
    else if (node.type === "ExportNamedDeclaration" && node.declaration === null)
      for (const { exported, local } of node.specifiers) {
        const of_import = imported.get(local.name)
        named.push([
          textOf(exported),
          ...(node.source === null ? (of_import ?? []) : [node.source.value, textOf(local)])
        ])
      }
    else return undefined
  }
  const [[, of_part = ""] = []] = named
  return named.every(([, part]) => part === of_part && part !== "")
    ? { part: inFolderOf(file, of_part), named: named.map(([as, , own]) => [as, own]) }
    : undefined
}

/** A module's code with `load` and `later` for its imports, and what it exports. `meta` replaces `import.meta`. */
const converted = (file, text, meta, names = new Map()) => {
  const code = text.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "")
  const of_file = (name) => inFolderOf(file, name)
  const edits = []
  const imports = []
  const exports = []
  const taken = (name) => (name.startsWith(".") ? `$load(${JSON.stringify(of_file(name))})` : builtin(name))
  const importOf = ({ source, specifiers }) => {
    const named = specifiers.filter(({ type }) => type === "ImportSpecifier")
    const whole = specifiers.filter(({ type }) => type !== "ImportSpecifier")
    if (whole.length > 0 && source.value.startsWith(".")) throw new Error(`${file} imports ${source.value} whole`)
    return [
      ...whole.map(({ local }) => `const ${local.name}=${taken(source.value)};`),
      ...(named.length === 0 && whole.length > 0
        ? []
        : [
            named.length === 0
              ? `${taken(source.value)};`
              : `const{${named.map((one) => renamed(textOf(one.imported), one.local.name))}}=${taken(source.value)};`
          ])
    ].join("")
  }
  const { program } = parseSync(file, code)
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") imports.push(importOf(node))
    else if (node.type === "ExportNamedDeclaration" && node.declaration === null) {
      const from = node.source === null ? "" : `${taken(node.source.value)}.`
      if (node.source !== null) imports.push(`${taken(node.source.value)};`)
      exports.push(...node.specifiers.map((one) => renamed(textOf(one.exported), `${from}${textOf(one.local)}`)))
    } else if (node.type === "ExportDefaultDeclaration") {
      const { id, start } = node.declaration
      edits.push([node.start, start, id ? "" : "const $default="])
      exports.push(`default:${id?.name ?? "$default"}`)
      continue
    } else if (node.type.startsWith("Export")) throw new Error(`${file} exports by ${node.type}`)
    else continue
    edits.push([node.start, node.end, ""])
  }
  new Visitor({
    MetaProperty: (node) => {
      if (node.meta.name === "import") edits.push([node.start, node.end, meta])
    },
    ImportExpression: ({ source, start, end }) => {
      const { quasis = [] } = source
      const name = source.type === "Literal" ? source.value : quasis.length === 1 ? quasis[0].value.cooked : undefined
      if (name?.startsWith(".") !== true) return void edits.push([start, source.start, "$later("])
      const { part, named } = names.get(of_file(name)) ?? { part: of_file(name) }
      const is_now = code.startsWith(".slices", end)
      const member = is_now && named !== undefined ? named.find(([as]) => as === "slices")[1] : "slices"
      const more = named === undefined ? "" : `,${JSON.stringify(named)}`
      edits.push(
        is_now
          ? [start, end + ".slices".length, `$load(${JSON.stringify(part)}).${member}`]
          : [start, end, `$later(${JSON.stringify(part)}${more})`]
      )
    },
    TaggedTemplateExpression: ({ quasi, tag }) => {
      if (tag.property?.name === "raw" && quasi.quasis.some(({ value }) => /[^\0-\x7f]/.test(value.raw)))
        throw new Error(`${file} has a tagged template with ${quasi.quasis.map(({ value }) => value.raw)}`)
    }
  }).visit(program)
  if (/\$(load|later|meta|default)\b/.test(code)) throw new Error(`${file} uses a name of the loader's`)
  const body = edits
    .toSorted(([one], [other]) => other - one)
    .reduce((all, [start, end, edit]) => all.slice(0, start) + edit + all.slice(end), code)
    .replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  return { imports: imports.join(""), body: body.trim(), exports }
}

/** Converts the modules in a folder, and puts the loader into those outside its `parts`. */
export const convertParts = (folder, loader) => {
  const isModule = (file) => file.endsWith(".js")
  const modulesIn = (of) => readdirSync(`${folder}/${of}`).filter(isModule).sort()
  const files = [...modulesIn("parts").map((name) => `parts/${name}`), ...modulesIn("")]
  const texts = new Map(files.map((file) => [file, readFileSync(`${folder}/${file}`, "utf8")]))
  const programs = files.map((file) => [file, parseSync(file, texts.get(file)).program])
  const imported = new Set(
    programs.flatMap(([file, { body }]) =>
      body.flatMap(({ source }) => (source?.value?.startsWith(".") ? [inFolderOf(file, source.value)] : []))
    )
  )
  const names = new Map(
    programs.flatMap(([file, program]) => {
      const found = file.startsWith("parts/") && !imported.has(file) ? namesFor(file, program) : undefined
      return found === undefined ? [] : [[file, found]]
    })
  )
  for (const file of names.keys()) rmSync(`${folder}/${file}`)
  const parts = files
    .filter((file) => file.startsWith("parts/") && !names.has(file))
    .map((file) => {
      const { imports, body, exports } = converted(file, texts.get(file), "$meta", names)
      return [file, `(function($load,$later,$meta){"use strict";${imports}${body}\nreturn{${exports}}})`]
    })
  const digest = createHash("sha256")
    .update(loader + parts.join())
    .digest("hex")
    .slice(0, 16)
  for (const [file, text] of parts) writeFileSync(`${folder}/${file}`, `/*${digest}*/${text}`)
  const { code } = minifySync(
    "load.mjs",
    `$called(${loader.slice(loader.indexOf("(program) => {")).replace("BUILD", digest)})`
  )
  const loading = code.trim().replace("$called(", "const[$load,$later]=(").replace(/;?$/, "")
  for (const file of modulesIn("")) {
    const { imports, body } = converted(file, texts.get(file), "import.meta", names)
    writeFileSync(`${folder}/${file}`, `${loading}(${JSON.stringify(file.slice(0, -3))});\n${imports}${body}\n`)
  }
}
