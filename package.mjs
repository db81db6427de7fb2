// `npm run package`: writes to dist/ the npm package, one executable with Node for Linux on x64 and one for arm64, a
// Debian package with the first (if dpkg-deb is installed), and their SHA-256 sums.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

const root = fileURLToPath(new URL(".", import.meta.url))
const dist = join(root, "dist")
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const work = mkdtempSync(join(tmpdir(), "flightcase-package-"))
process.on("exit", () => rmSync(work, { recursive: true, force: true }))

/** Version of Node in the executables: the first release line that reads an executable's assets as files. */
const node_version = "26.12.1"
const nodes = {
  x64: "sha512-jk5LMAmgHlPlPMWpsUrSOqNaEZG+11UNd35hWQ+p5/XGaelWuTqJ69IcAy/5xtPPN4d5ZRBNOGB6gLMCh2kL9A==",
  arm64: "sha512-8Oxs6Y7rDcKufVIM/zYRSwytj46WOrZk7yFCLTKDcs17bBjAeD9HMAqo97hMfMyxozIud0S4vZCs5WB/3iavNQ=="
}
/** Path of Node's program for an architecture, fetched once from npm and cached; throws if its hash is another. */
const nodeFor = (arch) => {
  const folder = join(root, "node_modules/.cache/flightcase-node", `${node_version}-${arch}`)
  const program = join(folder, "package/bin/node")
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  execFileSync("npm", ["pack", `node-linux-${arch}@${node_version}`, "--silent", "--pack-destination", work])
  const packed = join(work, `node-linux-${arch}-${node_version}.tgz`)
  const found = `sha512-${createHash("sha512").update(readFileSync(packed)).digest("base64")}`
  if (found !== nodes[arch]) throw new Error(`node-linux-${arch}@${node_version} is not the one pinned: ${found}`)
  execFileSync("tar", ["-xzf", packed, "-C", folder])
  return program
}

/** Main module of the executables: runs the command line; `serve` first re-executes itself with malloc limited. */
const main = `const [, , word] = process.argv
// Its own path is known where /proc is mounted.
if (word === "serve" && process.env.MALLOC_ARENA_MAX === undefined && process.execPath.startsWith("/"))
  process.execve(process.execPath, [process.execPath, ...process.argv.slice(2)], {
    MALLOC_ARENA_MAX: "2",
    MALLOC_MMAP_THRESHOLD_: "131072",
    MALLOC_TRIM_THRESHOLD_: "262144",
    ...process.env
  })
await import("./out/cli.js")
`
const executableFor = (arch) => {
  writeFileSync(join(work, "main.mjs"), main)
  const files = globSync("out/**/*", { cwd: root }).filter(
    (file) => !file.endsWith(".map") && !file.startsWith("out/man") && statSync(join(root, file)).isFile()
  )
  const output = join(dist, `flightcase-${version}-linux-${arch}`)
  const config = {
    main: join(work, "main.mjs"),
    mainFormat: "module",
    executable: nodeFor(arch),
    output,
    // Assets are read as files under their own paths, so the executable runs the same files as the npm package.
    useVfs: true,
    assets: Object.fromEntries([...files, "package.json", "LICENSE"].map((file) => [file, join(root, file)])),
    disableExperimentalSEAWarning: true,
    // 16 MB for young objects, as in cli/bin.mjs; no Web Storage, which prints a warning when it is read.
    execArgv: ["--max-semi-space-size=16", "--no-experimental-webstorage"]
  }
  writeFileSync(join(work, "sea.json"), JSON.stringify(config))
  execFileSync(nodeFor("x64"), ["--build-sea", join(work, "sea.json")], { stdio: ["ignore", "ignore", "inherit"] })
  return output
}

const write = (file, text, mode = 0o644) => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}
/** A Debian package: the executable, its unit and settings, manual pages and completions. */
const debianPackage = (executable) => {
  const tree = join(work, "deb")
  const at = (...path) => join(tree, ...path)
  mkdirSync(at("usr/bin"), { recursive: true })
  copyFileSync(executable, at("usr/bin/flightcase"))
  chmodSync(at("usr/bin/flightcase"), 0o755)
  cpSync(join(root, "deploy/debian/control"), at("DEBIAN"), { recursive: true })
  for (const script of ["preinst", "postinst", "prerm", "postrm"]) chmodSync(at("DEBIAN", script), 0o755)
  for (const unit of readdirSync(join(root, "deploy/systemd")))
    write(at("usr/lib/systemd/system", unit), readFileSync(join(root, "deploy/systemd", unit)))
  write(at("etc/flightcase/env"), readFileSync(join(root, "deploy/debian/env")), 0o640)
  const shells = {
    bash: "usr/share/bash-completion/completions/flightcase",
    zsh: "usr/share/zsh/vendor-completions/_flightcase",
    fish: "usr/share/fish/vendor_completions.d/flightcase.fish"
  }
  for (const [shell, path] of Object.entries(shells))
    write(at(path), execFileSync(executable, ["completion", shell], { encoding: "utf8" }))
  mkdirSync(at("usr/share/man/man1"), { recursive: true })
  execFileSync(process.execPath, [join(root, "man.mjs"), at("usr/share/man/man1")])
  const doc = "usr/share/doc/flightcase"
  write(at(doc, "copyright"), `${readFileSync(join(root, "LICENSE"))}\n${readFileSync(join(root, "out/licences.txt"))}`)
  write(at(doc, "changelog.gz"), gzipSync(readFileSync(join(root, "docs/CHANGELOG.md"))))
  const kilobytes = Math.ceil(
    globSync("**/*", { cwd: tree }).reduce((sum, file) => sum + statSync(at(file)).size, 0) / 1_024
  )
  const control = readFileSync(at("DEBIAN/control"), "utf8")
  write(at("DEBIAN/control"), control.replace("@VERSION@", version).replace("@KILOBYTES@", String(kilobytes)))
  const output = join(dist, `flightcase_${version}_amd64.deb`)
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zxz", "-z3", "--build", tree, output], {
    stdio: ["ignore", "ignore", "inherit"]
  })
  return output
}

const has = (program) => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

rmSync(dist, { recursive: true, force: true })
mkdirSync(dist)
execFileSync("npm", ["pack", "--silent", "--pack-destination", dist], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"]
})
const x64 = executableFor("x64")
executableFor("arm64")
if (has("dpkg-deb")) debianPackage(x64)
else console.warn("No Debian package: dpkg-deb is not installed.")

const sums = readdirSync(dist).map((file) => {
  const bytes = readFileSync(join(dist, file))
  console.log(`${(bytes.length / 1e6).toFixed(1).padStart(7)} MB  dist/${file}`)
  return `${createHash("sha256").update(bytes).digest("hex")}  ${file}\n`
})
writeFileSync(join(dist, "SHA256SUMS"), sums.join(""))
