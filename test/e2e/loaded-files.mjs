// Preloaded into a program: as it ends, writes which files it has loaded and which of Node's own modules.
import { writeFileSync } from "node:fs"
import { registerHooks } from "node:module"

const files = []
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith("file:")) files.push(url)
    return next(url, context)
  }
})
process.on("exit", () => {
  const of_node = process.moduleLoadList.flatMap((one) => /^NativeModule (.+)$/.exec(one)?.[1] ?? [])
  writeFileSync(process.env.LOADED_FILES, JSON.stringify({ files, of_node }))
})
