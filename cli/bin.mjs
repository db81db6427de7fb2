#!/usr/bin/env node
// Starts the command line on a Node that can run it: this one, or the one that came with the installation.
// Uses `process.getBuiltinModule` on Node 24: `import` would load lazy parts of Node's modules, some milliseconds each.

// Servers save memory without losing speed: semi-spaces of 16 MB instead of 64 for young objects, at most two arenas of
// malloc, and blocks from 128 kB on returned when freed. Node and libc read it at start: the process replaces itself.
const is_server = process.argv[2] === "serve"
const server_options = is_server ? ["--max-semi-space-size=16"] : []
const malloc = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072", MALLOC_TRIM_THRESHOLD_: "262144" }
const server_environment = is_server ? { ...malloc, ...process.env } : process.env
if (Number(process.versions.node.split(".")[0]) >= 24) {
  const built = new URL("../out/cli.js", import.meta.url)
  if (!process.getBuiltinModule("node:fs").existsSync(built)) {
    process.stderr.write("flightcase: not built yet; run npm run build in its folder first.\n")
    process.exit(1)
  }
  const has_options = /semi-space/.test(`${process.execArgv} ${process.env.NODE_OPTIONS}`)
  if (is_server && !has_options && process.channel === undefined && process.platform !== "win32")
    process.execve(
      process.execPath,
      [process.execPath, ...process.execArgv, ...server_options, ...process.argv.slice(1)],
      server_environment
    )
  await import(built.href)
} else {
  const { spawn } = await import("node:child_process")
  const { existsSync } = await import("node:fs")
  const { constants } = await import("node:os")
  const { fileURLToPath } = await import("node:url")
  const names = [`node-${process.platform}-${process.arch}`]
  const places = [new URL("../node_modules/", import.meta.url), new URL("../../", import.meta.url)]
  const node = places
    .flatMap((place) => names.map((name) => fileURLToPath(new URL(`${name}/bin/node`, place))))
    .find(existsSync)
  if (node === undefined) {
    process.stderr.write(`flightcase: this needs Node 24 or newer, and runs on ${process.version}.\n`)
    process.exit(1)
  }
  // The server exits when this channel closes, as a killed parent cannot pass a signal on.
  const stdio = ["inherit", "inherit", "inherit", ...(is_server ? ["ipc"] : [])]
  const args = [...server_options, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(node, args, { stdio, env: server_environment })
  // Ctrl-C at a terminal goes to the child too; signals that other processes send are passed on.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal)
    })
  child.on("exit", (code, signal) => process.exit(signal === null ? code : 128 + (constants.signals[signal] ?? 0)))
  child.on("error", (cause) => {
    process.stderr.write(`flightcase: ${node} cannot be run: ${cause.message}\n`)
    process.exit(1)
  })
}
