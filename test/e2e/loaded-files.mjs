// Preloaded into a program: as it ends, writes which files it has loaded and which of Node's own modules.
import fs from "node:fs"
import { registerHooks, syncBuiltinESMExports } from "node:module"
import { pathToFileURL } from "node:url"

const files = []
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith("file:")) files.push(url)
    return next(url, context)
  }
})
// The program reads files of its own by `readFileSync`.
const { readFileSync } = fs
fs.readFileSync = (path, ...options) => {
  const { href } = path instanceof URL ? path : pathToFileURL(String(path))
  if (href.includes("/out/parts/")) files.push(href)
  return readFileSync(path, ...options)
}
syncBuiltinESMExports()
process.on("exit", () => {
  const of_node = process.moduleLoadList.flatMap((one) => /^NativeModule (.+)$/.exec(one)?.[1] ?? [])
  fs.writeFileSync(process.env.LOADED_FILES, JSON.stringify({ files, of_node }))
})
