// Loads the program's files in out/parts, each a script that is one function. `parts.mjs` puts this at the head of
// out/cli.js and out/server.js, and writes the digest of all parts for BUILD.
// Node keeps compiled code of a module as it is before it runs, when V8 has compiled next to nothing. This keeps it in
// the same folder as it is when a command first ends: with all functions that the command called.
export const loading = (program) => {
  const fs = process.getBuiltinModule("node:fs")
  const { Script } = process.getBuiltinModule("node:vm")
  const digest = "BUILD"
  /** A folder of the user's own, or undefined: whoever writes to it runs code as the user. */
  const ownFolder = () => {
    const { HOME, LOCALAPPDATA, XDG_CACHE_HOME } = process.env
    if (process.platform === "win32") return LOCALAPPDATA && `${LOCALAPPDATA}/flightcase`
    try {
      if (fs.statSync(XDG_CACHE_HOME || HOME).uid !== process.getuid()) return undefined
      return `${XDG_CACHE_HOME || `${HOME}/.cache`}/flightcase`
    } catch {
      // It is missing, or may not be looked at.
      return undefined
    }
  }
  const modules = process.getBuiltinModule("node:module")
  const own = process.env.NODE_COMPILE_CACHE === undefined ? ownFolder() : undefined
  if (own) modules.enableCompileCache(own)
  // Named by Node for its version, V8's flags and the user; undefined if compiled code is not kept.
  const folder = modules.getCompileCacheDir()
  const kept = folder === undefined ? undefined : `${folder}/flightcase-${digest}`
  const fileOf = (part) => `${kept}/${part.slice("parts/".length)}`
  const scripts = new Map()
  const loaded = new Map()
  let is_incomplete = false
  const read = (path, encoding) => {
    try {
      return fs.readFileSync(path, encoding)
    } catch {
      return undefined
    }
  }
  const sizeOf = (part) => fs.statSync(fileOf(part), { throwIfNoEntry: false })?.size
  /** Compiled code of a part, kept twice and with the digest: V8 does not notice what is missing or damaged. */
  const keptOf = (part) => {
    const bytes = read(fileOf(part))
    if (bytes?.subarray(-digest.length).toString("latin1") !== digest) return undefined
    const length = (bytes.length - digest.length) / 2
    const code = bytes.subarray(0, length)
    return code.equals(bytes.subarray(length, 2 * length)) ? code : undefined
  }
  /** Text of a part. Throws as `import` does if it is gone or of another release, as while that is being written. */
  const textAt = (at) => {
    // The build writes nothing beyond ASCII, so that V8 keeps a byte for each character.
    const text = read(at, "latin1")
    if (text?.startsWith(`/*${digest}*/`)) return text
    throw Object.assign(new Error(`Cannot find module ${at.href} of this release`), { code: "ERR_MODULE_NOT_FOUND" })
  }
  const load = (part) => {
    const known = loaded.get(part)
    if (known !== undefined) return known
    const at = new URL(part, import.meta.url)
    const cachedData = kept === undefined ? undefined : keptOf(part)
    const script = new Script(textAt(at), { filename: at.href, cachedData })
    if (script.cachedDataRejected !== false) is_incomplete = true
    scripts.set(part, [script, script.cachedDataRejected === false ? cachedData.length : 0, sizeOf(part)])
    const members = script.runInThisContext()(load, later, { url: at.href, ran })
    loaded.set(part, members)
    return members
  }
  /** The members by their names in the source, if that module is one of several in its part. */
  const later = async (name, named) => {
    if (!name.startsWith("parts/")) return name.startsWith("node:") ? process.getBuiltinModule(name) : import(name)
    const members = load(name)
    return named === undefined ? members : Object.fromEntries(named.map(([as, own]) => [as, members[own]]))
  }

  let command = program
  const ran = (name) => {
    command = name
  }
  const keep = () => {
    if (kept === undefined) return
    const mark = `${kept}/${command.replaceAll(" ", "-")}.ran`
    if (!is_incomplete && fs.existsSync(mark)) return
    let beside = ""
    try {
      // V8 drops code that a long process no longer calls, and others may have kept more meanwhile.
      if (process.uptime() > 20 || [...scripts].some(([part, [, , size]]) => sizeOf(part) !== size)) return
      fs.mkdirSync(kept, { recursive: true, mode: 0o700 })
      for (const [part, [script, length]] of scripts) {
        const code = script.createCachedData()
        if (code.length <= length) continue
        // On disk before it has its name, so that it is there as a whole or not at all.
        beside = `${fileOf(part)}.${process.pid}`
        fs.writeFileSync(beside, Buffer.concat([code, code, Buffer.from(digest)]), { flush: true })
        fs.renameSync(beside, fileOf(part))
        scripts.set(part, [script, code.length, sizeOf(part)])
      }
      fs.writeFileSync(mark, "")
      is_incomplete = false
    } catch {
      // Without it commands only start more slowly.
      if (beside !== "") fs.rmSync(beside, { force: true })
    }
  }
  process.on("exit", keep)
  setTimeout(keep, 10_000).unref()
  import.meta.ran = ran
  return [load, later]
}
