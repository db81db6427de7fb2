// Builds out/site, which the server shows: the guide of docs/, and the page at /docs that draws the interface's
// description. All of it is kept compressed.
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { brotliCompress, constants } from "node:zlib"

const root = fileURLToPath(new URL(".", import.meta.url))
const site = `${root}out/site/`
const record = `${site}packages.json`

const changedAt = (file) => statSync(file).mtimeMs
const isFresh = () =>
  existsSync(record) &&
  ["package-lock.json", "site.mjs", ...globSync(["docs/**/*.*", "docs/.vitepress/**/*.*"], { cwd: root })].every(
    (file) => changedAt(root + file) <= changedAt(record)
  )

/** Builds the guide; returns the folders of the packages in its browser code, relative to the root. */
const buildGuide = async () => {
  const { build } = await import("vitepress")
  const packages = new Set()
  const noteOfPackages = {
    name: "packages",
    generateBundle: (_, bundle) => {
      for (const { modules } of Object.values(bundle))
        for (const id of Object.keys(modules ?? {}))
          for (const folder of /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id) ?? [])
            packages.add(relative(root, folder))
    }
  }
  const environment = process.env.NODE_ENV
  await build(`${root}docs`, {
    onAfterConfigResolve: (config) => {
      config.logger.info = () => {}
      config.vite = { ...config.vite, logLevel: "error", plugins: [noteOfPackages] }
    }
  })
  // VitePress leaves NODE_ENV at production, with which `npm sbom` would omit development packages that are bundled.
  if (environment === undefined) delete process.env.NODE_ENV
  else process.env.NODE_ENV = environment
  return [...packages]
}

// Colours that axe finds too pale on their ground are darker here, and lighter in the dark.
const colours = `.light-mode{--scalar-color-2:#4a4a4a;--scalar-color-3:#5f5f5f;--scalar-color-accent:#00539c;--scalar-color-green:#00663f;--scalar-color-blue:#00539c;--scalar-color-orange:#8a4300;--scalar-color-yellow:#6f5200;--scalar-color-red:#b01c1c;--scalar-color-purple:#5a2ca0}
.dark-mode{--scalar-color-3:#a8a8a8;--scalar-color-red:#ff8a8a}`
/** The page at /docs: Scalar draws what /api/v1/openapi.json describes, and asks nobody but this server. */
const interfacePage = (script) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Flightcase API</title></head>
<body><div id="api"></div><script src="${script}"></script>
<script>Scalar.createApiReference("#api", {
  url: "/api/v1/openapi.json",
  servers: [{ url: location.origin, description: "This server" }],
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  hideModels: true,
  defaultOpenFirstTag: false,
  customCss: ${JSON.stringify(colours)}
})</script></body>
</html>
`
const scalar = "node_modules/@scalar/api-reference"
/** Scalar's script takes longer to compress than all else to build, so it stays until its version changes. */
const buildInterfacePage = async () => {
  const { version } = JSON.parse(readFileSync(`${root}${scalar}/package.json`, "utf8"))
  const script = `/docs/assets/scalar-${version}.js`
  const file = site + script.slice(1)
  if (!existsSync(`${file}.br`)) {
    rmSync(`${site}docs`, { recursive: true, force: true })
    mkdirSync(`${site}docs/assets`, { recursive: true })
    await compressTo(file, readFileSync(`${root}${scalar}/dist/browser/standalone.js`))
  }
  await compressTo(`${site}docs/index.html`, interfacePage(script))
}

const compress = promisify(brotliCompress)
const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
const compressTo = async (file, content) => writeFileSync(`${file}.br`, await compress(content, { params }))
const compressGuide = () =>
  Promise.all(
    readdirSync(`${site}guide`, { recursive: true }).map(async (name) => {
      const file = `${site}guide/${name}`
      if (!statSync(file).isFile()) return
      await compressTo(file, readFileSync(file))
      rmSync(file)
    })
  )

/** Builds the site unless its sources are unchanged; returns the folders of its packages, relative to the root. */
export const buildSite = async () => {
  if (isFresh()) return JSON.parse(readFileSync(record, "utf8"))
  rmSync(`${site}guide`, { recursive: true, force: true })
  const interface_page = buildInterfacePage()
  const packages = [...(await buildGuide()), scalar]
  await compressGuide()
  await interface_page
  writeFileSync(record, JSON.stringify(packages))
  return packages
}
