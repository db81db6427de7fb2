/** No stored text controls the terminal: all commands, over data whose text fields all hold control characters. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { commands } from "../../../cli/frame/command-list.ts"
import { catalogue } from "../../../core/catalogue.ts"
import { verbsOf } from "../../../cli/derived/names.ts"
import { escapeForTerminal } from "../../../cli/output/out.ts"
import { styled } from "../../../cli/output/text.ts"
import { type AskAny, furnishOddly, odd_text } from "../../any-text.ts"
import { type CommandLine, openCommandLine } from "../command-line.ts"
import { callOf, openPlace, owner_token, type Place, type Ran } from "../session.ts"
import { plays_everything } from "../../app.ts"
import { bodyRead } from "../../answers.ts"

/** Control characters and direction marks. */
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const our_inks = /\u001b\[(0|1|2|31|32|33|34|36)m/g

let place: Place, cli: CommandLine
const env_before = { ...process.env }
const at = (method: string, path: string, body?: unknown) => callOf(place)(method, path, body)
const asking: AskAny = ({ method, path, body }) => at(method, path.replace("/api/v1", ""), body)

beforeAll(async () => {
  place = await openPlace()
  await furnishOddly(asking)
  cli = openCommandLine()
  Object.assign(process.env, { FLIGHTCASE_NO_BACKGROUND: "1", TZ: "UTC" })
  expect(await cli.type(["login", place.url, "--token", owner_token, "--name", `van ${odd_text}`])).toMatchObject({
    code: 0
  })
  // Conflicts: a row changed here was deleted at the server, or changed there by a user with an unusual name.
  const made = (await at("POST", "/product_groups", { name: `Gone ${odd_text}` })).body.product_group.id
  const group = (await at("POST", "/product_groups", { name: `Edited ${odd_text}` })).body.product_group.id
  const type = async (...words: ReadonlyArray<string>): Promise<void> =>
    expect(await cli.type(words)).toMatchObject({ code: 0 })
  await type("sync")
  await type("product-groups", "update", String(made), "--name", `Again ${odd_text}`)
  await type("product-groups", "update", String(group), "--name", `Mine ${odd_text}`)
  await at("DELETE", `/product_groups/${made}`)
  await at("PUT", `/product_groups/${group}`, { name: `Theirs ${odd_text}` })
}, 120_000)
afterAll(async () => {
  for (const name of Object.keys(process.env)) if (!(name in env_before)) delete process.env[name]
  Object.assign(process.env, env_before)
  cli.close()
  await place.close()
})

/** Kinds of output: a pipe, a terminal, a terminal with colours. */
const looks: ReadonlyArray<readonly [name: string, env: { readonly [name: string]: string }]> = [
  ["in a pipe", {}],
  ["on a terminal", { FLIGHTCASE_TTY: "1", NO_COLOR: "1", COLUMNS: "200" }],
  ["in colours", { FLIGHTCASE_TTY: "1", CLICOLOR_FORCE: "1", COLUMNS: "60" }]
]
/** The verbs of all endpoints: reads, and plans with unusual values. */
const derived: ReadonlyArray<ReadonlyArray<string>> = verbsOf(catalogue.endpoints).flatMap(
  ({ words, endpoint, params }) => {
    const args = [...words, ...params.map(() => "1")]
    if (endpoint.method === "GET")
      return params.length === 0 ? [args] : [args, [...words, ...params.map(() => `no ${odd_text}`)]]
    return [
      [
        ...args,
        "--plan",
        "--no-input",
        "-d",
        JSON.stringify(
          Object.fromEntries(
            ["name", "subject", "label", "reason", "status", "barcode", "settings"].map((key) => [key, odd_text])
          )
        )
      ]
    ]
  }
)
const window = ["--from", "2026-06-28", "--to", "2026-07-08"]
const by_hand = (): ReadonlyArray<ReadonlyArray<string>> => [
  ["login", place.url, "--token", owner_token],
  ["undo", "--list"],
  ["undo", `no ${odd_text}`],
  ["setup", "--plan"],
  ["sync"],
  ["sync", "status"],
  ["sync", "conflicts"],
  ["sync", "report", "--all"],
  ["sync", "resolve", `no ${odd_text}`, "--drop"],
  ["sync", "export-pending", join(place.folder, "pending.json")],
  ["sync", "bundle", "out", join(place.folder, "bundle.json")],
  ["sync", "--install-unit", "--print"],
  ["devices", "list"],
  ["devices", "rename", "1", `van ${odd_text}`],
  ["devices", "revoke", `no ${odd_text}`],
  ["price", "1", ...window],
  ["price", "1", ...window, "--explain"],
  ["price", `no ${odd_text}`, ...window],
  ["availability", "1", ...window],
  ["availability", "calendar", ...window],
  ["availability", "gantt", "1", ...window],
  ["availability", "gantt", "5", ...window],
  ["availability", "why", "1", "--date", "2026-07-02"],
  ["availability", "why", "5", "--date", "2026-07-02"],
  ["availability", "what-if", "1", ...window],
  ["availability", "fit", "1"],
  ["shortages", ...window],
  ["shortages", "wait", "1", "--note", odd_text],
  ["shortages", "waiting"],
  ["shortages", "waiting", "1"],
  ["shortages", "leave", `no ${odd_text}`],
  ["quote", "list"],
  ["quote", "show", "1"],
  ["quote", "show", "1", "--explain"],
  ["quote", "add", "1", `x${odd_text}`],
  ["quote", "new", "--no-input"],
  ["quote", "new", "--subject", odd_text, ...window, "--no-input", "--plan"],
  ["orders", "show", "1"],
  ["orders", "history", "1"],
  ["orders", "history", "3"],
  ["orders", "list"],
  ["today"],
  ["today", "--store", odd_text],
  ["find", odd_text],
  ["find", "a", "--only", odd_text],
  ["board", "--store", odd_text],
  ["containers", "manifest", "1"],
  ["containers", "manifest", "6"],
  ["containers", "show", "1"],
  ["pack", "1", "--file", join(place.folder, "codes.txt")],
  ["scan", "out", "1", "--file", join(place.folder, "codes.txt")],
  ["scan", "in", "--file", join(place.folder, "codes.txt")],
  ["units", "quarantine", `no ${odd_text}`, "--reason", odd_text],
  ["units", "quarantine", "1", "--reason", odd_text, "--note", odd_text],
  ["units", "show", "1"],
  ["units", "workshop"],
  ["units", "release", "1", "--note", odd_text],
  ["receive", `no ${odd_text}`, "--file", join(place.folder, "codes.txt")],
  ["receive", "1", "--file", join(place.folder, "codes.txt"), "--reference", odd_text],
  ["attach", `no ${odd_text}`, join(place.folder, "codes.txt")],
  ["attach", `unit:no ${odd_text}`, join(place.folder, "codes.txt")],
  ["attach", "order:1", join(place.folder, "codes.txt"), "--category", odd_text],
  ["attachments", "list"],
  ["mail", "test", `no ${odd_text}`],
  ["mail", "test"],
  ["webhooks", "listen", "--events", `no ${odd_text}`],
  ["webhooks", "list"],
  ["calendar", "links"],
  ["import", "products", join(place.folder, "odd.csv"), "--dry-run"],
  ["import", "products", join(place.folder, "odd.csv")],
  ["import", odd_text, "x"],
  ["import", "all", join(place.folder, odd_text)],
  ["export", join(place.folder, "all")],
  ["export", join(place.folder, "all"), "--offline"],
  ["api", "GET", "/products"],
  ["api", "GET", `/products/${encodeURIComponent(odd_text)}`],
  ["api", "POST", "/product_groups", "-d", `{"name": "${odd_text}`],
  ["smoke", `http://127.0.0.1:1/${encodeURIComponent(odd_text)}`, "--token", "token-nobody-has-at-all"],
  ["attach", "product:1", join(place.folder, "odd.csv"), "--description", odd_text, "--category", odd_text],
  ["attach", odd_text, join(place.folder, "odd.csv")],
  ["attach", "product:1", join(place.folder, odd_text)],
  ["attachments", "list"],
  ["attachments", "get", `no ${odd_text}`],
  ["mail", "test", `ann ${odd_text}`],
  ["mail", "test", "ann@customer.example"],
  ["jobs", "list"],
  ["jobs", "show", `no ${odd_text}`],
  ["webhooks", "list"],
  ["webhooks", "create", "-d", JSON.stringify({ url: `https://example.com/${odd_text}`, events: ["*"] })],
  ["webhooks", "listen", "--port", odd_text],
  ["members", "new", `New ${odd_text}`, "--phone", odd_text, "--street", odd_text],
  ["members", "new", "New", "--email", odd_text],
  ["users", "invite", `no ${odd_text}`, "--name", odd_text],
  ["users", "invite", "new@customer.example", "--name", `New ${odd_text}`, "--role", odd_text],
  ["users", "reset-password", `no ${odd_text}`],
  ["inbox"],
  ["inbox", "--all", "--type", odd_text],
  ["inbox", "show", odd_text],
  ["inbox", "read", odd_text],
  ["inbox", "read", "--all"],
  ["notifications", "preferences"],
  ["notifications", "preferences", "--member", `no ${odd_text}`],
  ["notifications", "settings"],
  ["notifications", "set", odd_text, "--muted"],
  ["notifications", "set", "invoice.overdue", "--no-email"],
  ["usage"],
  ["usage", "--by", "token"],
  ["usage", "--by", odd_text, "--token", odd_text],
  ["usage", "export", "--by", odd_text],
  ["usage", "export", "--output", join(place.folder, "usage.csv")],
  ["usage", "logs"],
  ["usage", "logs", "-q", `uri_cont=${odd_text}`, "--route", odd_text, "--status", odd_text],
  ["doctor"],
  ["completion", "words", "--", "products", "show", ""],
  ["completion", "words", "--", "members", "show", "C"],
  ["completion", "bash"],
  ["backup", "list", `no ${odd_text}`],
  ["backup", "verify", `no ${odd_text}`],
  ["backup", "move", `no ${odd_text}`],
  ["units", "due"],
  ["units", "inspect", `no ${odd_text}`, "--kind", odd_text, "--pass"],
  ["units", "label", `no ${odd_text}`],
  ["count", "show", `no ${odd_text}`],
  ["transfers", "show", `no ${odd_text}`],
  ["transfers", "create", "--to", `no ${odd_text}`, odd_text],
  ["serve", "--help"],
  ["upgrade", "--help"],
  ["mcp", odd_text],
  [odd_text],
  ["products", odd_text],
  ["products", "list", `--${odd_text}`],
  ["help"],
  ["--version"],
  []
]

describe("control characters in data", () => {
  // With colours, everything is checked: control characters other than our own colours.
  it.each(plays_everything ? looks : looks.slice(-1))(
    "never reach the terminal in the output of any command (%s), and JSON of lists stays valid",
    async (_name, env) => {
      writeFileSync(join(place.folder, "codes.txt"), `no ${odd_text}\nMH-1 ${odd_text}\nasset_number 5\n`)
      writeFileSync(
        join(place.folder, "odd.csv"),
        `name,sku,group,odd ${odd_text.replace("\r", "")}\n"Odd ${odd_text}","S ${odd_text}","G ${odd_text}",x\n,,"${odd_text}",\n`
      )
      const problems: Array<string> = []
      let visible = 0,
        asked = 0
      for (const name of ["FLIGHTCASE_TTY", "NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"]) delete process.env[name]
      Object.assign(process.env, env)
      const look = (words: ReadonlyArray<string>, { out, err }: Ran, inks: boolean): void => {
        asked++
        for (const [stream, text] of [
          ["stdout", out],
          ["stderr", err]
        ] as const) {
          const plain = inks ? text.replace(our_inks, "") : text
          const found = steering.exec(plain)
          // Files keep their exact content unless printed on a terminal.
          const is_file =
            stream === "stdout" &&
            words.join(" ").startsWith("calendar-feeds export") &&
            env["FLIGHTCASE_TTY"] === undefined
          if (found !== null && !is_file)
            problems.push(
              `${JSON.stringify(words)} ${stream}: ${JSON.stringify(plain.slice(Math.max(0, found.index - 60), found.index + 20))}`
            )
          if (text.includes("\ufffd")) visible++
        }
      }
      for (const words of [...derived, ...by_hand()]) {
        look(words, await cli.type(words), env["CLICOLOR_FORCE"] === "1")
      }
      // JSON is equal on all outputs, and one function writes it; calendars are files without JSON.
      const shortened = derived.filter((one, at) => one.includes("list") || plays_everything || at % 4 === 0)
      for (const words of env["FLIGHTCASE_TTY"] === undefined
        ? shortened.filter((one) => !one.includes("--plan") && one[0] !== "calendar-feeds")
        : []) {
        const ran = await cli.type([...words, "--json"])
        look([...words, "--json"], { ...ran, out: ran.out.replaceAll("\n", "") }, false)
        if (ran.code === 0) expect(() => JSON.parse(ran.out), words.join(" ")).not.toThrow()
      }
      expect(problems).toEqual([])
      expect(asked).toBeGreaterThan(200)
      expect(visible).toBeGreaterThan(100)
      const { out } = await cli.type(["product-groups", "list", "--json"])
      expect(
        bodyRead(JSON.parse(out)).product_groups.filter(({ name }) => name.endsWith(odd_text)).length
      ).toBeGreaterThan(1)
    },
    900_000
  )

  it("are tested with every handwritten command", () => {
    const words = new Set([...derived, ...by_hand()].map(([word]) => word))
    expect(Object.keys(commands).filter((word) => !words.has(word))).toEqual([])
  })

  it("are replaced inside coloured text", () => {
    const ours = styled(true, "red", "red \u001b[32mgreen\u001b[0m \u202e")
    expect(escapeForTerminal(`${ours} \u001b[1mbold`)).toBe(
      "\u001b[31mred \ufffd[32mgreen\ufffd[0m \ufffd\u001b[0m \ufffd[1mbold"
    )
  })
})

describe("the sources of the command line", () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url))
  const sources = (folder: string): ReadonlyArray<string> =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name))
  const code = (file: string): string =>
    readFileSync(join(root, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
  it("write to standard output and standard error only in cli/output/out.ts", () => {
    const others = sources("cli").filter((file) => file !== "cli/output/out.ts")
    // Checks for terminals and widths may be elsewhere.
    const writing = others.filter((file) =>
      /\bstd(out|err)\b(?!\.(isTTY|columns)\b)|\bconsole\b|\/dev\/(tty|fd)|writeSync\(\s*[12]\b/.test(code(file))
    )
    expect(others.length).toBeGreaterThan(80)
    expect(writing).toEqual([])
  })
  it("use neither readline nor readLines, nor do core, server and sync, as both split at other characters, too", () => {
    const reading = ["cli", "core", "server", "sync"]
      .flatMap(sources)
      .filter((file) => /readline|\.readLines\(/.test(code(file)))
    expect(reading).toEqual([])
  })
})
