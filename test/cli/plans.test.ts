/** `--plan` writes nothing, at the server or on the device, for every command. */
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { beforeAll, expect, it } from "vitest"
import { placeOfSuite } from "./place.ts"
import { owner_token } from "./session.ts"

const place = placeOfSuite()
const { done } = place
beforeAll(async () => {
  const hire = "--from 2030-07-01T09:00 --to 2030-07-03T18:00"
  for (const line of [
    'products create --name "Robe Pointe" --sku MH1',
    "products create --name Head --sku HEAD --stock-method serialised",
    "stock-levels create --product HEAD --store 1 --asset-number A-1",
    "stock-levels create --product HEAD --store 1 --asset-number A-2",
    "stock-levels update 1 --quantity-held 6",
    "stores update 1 --shortage-policy block",
    'members create --name "Ann Archer" --membership-type organisation',
    `quote new --subject Gala --member "Ann Archer" ${hire} --line HEAD*1`,
    `quote new --subject Mine --member "Ann Archer" ${hire} --line MH1*6`,
    `quote new --subject Theirs --member "Ann Archer" ${hire} --line MH1*2`,
    `quote new --subject Quote --member "Ann Archer" ${hire} --line MH1*1`,
    "quote convert 1",
    'containers create --name "Case 7" --barcode CASE7 --store-id 1'
  ])
    await done(line)
  const sam = await place.house.person({ name: "Sam", roles: ["Sales"] })
  await done(`login ${place.url} --token ${sam.secret} --name till`)
  // Sam's order is refused, as others took the goods first.
  await done("quote convert 2 --offline")
  await done(`quote convert 3 --remote --token ${owner_token}`)
  expect((await place.type("sync")).code).toBe(8)
  await done(`quote new --subject Unsent --offline ${hire}`)
  await done(`login ${place.url} --token ${owner_token} --name office --profile office`)
  writeFileSync(join(place.folder, "codes.txt"), "A-1\n")
  writeFileSync(join(place.folder, "members.csv"), "name,membership_type\nBob,organisation\n")
}, 300_000)

/** All rows of these tables in a database file. */
const rowsOf = (file: string, tables: ReadonlyArray<string>): unknown => {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return tables.map((table) => [table, database.prepare(`select * from ${table}`).all()])
  } finally {
    database.close()
  }
}
const tablesOf = (file: string): ReadonlyArray<string> => {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database
      .prepare("select name from sqlite_master where type = 'table' order by name")
      .all()
      .map(({ name }) => String(name))
  } finally {
    database.close()
  }
}
/** Jobs other than the server's scheduled ones. */
const jobs = "effect_queue where element not like '%due_at%' and id not like 'bell:%'"
const written = (): unknown => ({
  server: rowsOf(place.database, ["journal", jobs, "login_codes", "replicas"]),
  here: ["default", "office"].map((profile) => {
    const outbox = join(place.home, "profiles", profile, "outbox.sqlite")
    const replica = join(place.home, "profiles", profile, "replica.sqlite")
    return [
      rowsOf(outbox, tablesOf(outbox)),
      rowsOf(replica, ["opportunities", "opportunity_items", "products", "members", "attachments"])
    ]
  }),
  files: readdirSync(place.folder).sort()
})

/** Plans with exit 0, by the owner's device if the till has no permission. */
const planned = [
  "sync resolve 1 --reduce-to free",
  "sync resolve 1 --reduce-to 4",
  "sync resolve 1 --dates 2030-08-01..2030-08-03",
  "sync resolve 1 --waitlist",
  "sync resolve 1 --drop",
  "sync resolve 1 --drop --with-dependants",
  "undo",
  "members update 2 --name Bob",
  "quote new --subject Next --from 2030-07-01 --to 2030-07-02 --line MH1*1",
  "quote add 4 MH1 --quantity 2",
  "quote convert 4",
  "quote duplicate 1",
  "orders extend 1 --to 2030-07-05",
  "orders update 1 --subject Other",
  "orders cancel 1 --reason rain",
  "orders change-status 1 --to on-hire",
  "shortages wait 2",
  "scan out 1 --file codes.txt",
  "attach order:1 codes.txt",
  "office users invite ann@example.com --name Ann --role Sales",
  "office products create --name Desk",
  "office products delete MH1 --yes",
  'office api POST /products -d {"name":"Desk"}',
  "office units quarantine A-1 --reason broken",
  "office containers update CASE7 --name Case",
  "office pack CASE7 A-1",
  "office import members members.csv",
  "office purchase-orders create --supplier-id 2 --store-id 1",
  "office quote convert 4"
]
/** Plans that would be refused. */
const refused = [
  "sync resolve 1 --retry",
  "sync resolve 1 --amend {}",
  "sync resolve 1 --split",
  "sync resolve 1 --substitute",
  "sync resolve 1 --reduce-to 5"
]
/** Decided only by the server, or without a plan: exit 2. */
const has_none = [
  "sync",
  "sync --watch",
  "sync --install-unit",
  "sync bundle in members.csv",
  "sync report --all --seen",
  "login URL --token TOKEN",
  "smoke URL --token TOKEN",
  "doctor --repair",
  "doctor --accept-loss",
  "devices rename till van",
  "devices revoke till --yes",
  "mail test",
  "inbox read --all",
  "office users reset-password 2",
  "office webhooks create --url https://example.com/hook --events product.updated"
]
const cases: ReadonlyArray<readonly [line: string, codes: ReadonlyArray<number>]> = [
  ...planned.map((line) => [line, [0]] as const),
  ...refused.map((line) => [line, [5, 6]] as const),
  ...has_none.map((line) => [line, [2]] as const)
]
it.each(cases)("--plan writes nothing: %s", async (line, codes) => {
  const [first = "", ...rest] = line
    .split(" ")
    .map((word) => word.replace("URL", place.url).replace("TOKEN", owner_token))
  const words = first === "office" ? [...rest, "--profile", "office"] : [first, ...rest]
  const before = written()
  const { code, err } = await place.type([...words, "--plan", "--no-input"])
  expect(codes, err).toContain(code)
  expect(written()).toEqual(before)
})
