/**
 * Start-up of the command line against an idle Node: `products show 1` on a filled replica, and commands that read no
 * data (version, help, completion).
 */
import { join } from "node:path"
import { enrolDevice } from "../../sync/device/device.ts"
import { priceList } from "./journal.ts"
import { inTurns, print } from "./measure.ts"
import { importProducts, owner_token, root, started, temporaryFolder } from "./processes.ts"
import { onSqlite, served } from "./stage.ts"

const nothing_kept = { NODE_DISABLE_COMPILE_CACHE: "1" }
const rounds = 21
const products = 2_000

export const cli = async (): Promise<void> => {
  const home = temporaryFolder()
  await served(onSqlite, async (_engine, server, ask) => {
    await importProducts(ask, products)
    const device = await enrolDevice(join(home, "profiles", "default"), {
      name: "default",
      url: server.url,
      token: owner_token,
      device: "bench"
    })
    await device.close()
  })
  const first = priceList(1)[0]!["name"] as string
  const asked = ["products", "show", "1"]
  const taken = await inTurns(
    [
      started("flightcase", [join(root, "cli/bin.mjs"), ...asked], home, first),
      started("node -e 0", ["-e", "0"], home),
      started("out/cli.js, nothing kept", [join(root, "out/cli.js"), ...asked], home, first, nothing_kept)
    ],
    rounds
  )
  print(
    `cli: cold start of "products show 1" on a replica of ${products.toLocaleString("en")} products; flightcase is cli/bin.mjs with Node's compile cache`,
    taken,
    { unit: "starts", as: "duration" }
  )
  const dataless: ReadonlyArray<readonly [args: ReadonlyArray<string>, shows: string]> = [
    [["--version"], "flightcase "],
    [["--help"], "Usage: flightcase"],
    [["completion", "line", "--", "flightcase products sh"], "show"]
  ]
  const sides = dataless.map(([args, shows]) =>
    started(`flightcase ${args[0]}`, [join(root, "cli/bin.mjs"), ...args], home, shows)
  )
  const [idle, ...others] = await inTurns([started("node -e 0", ["-e", "0"], home), ...sides], rounds)
  for (const other of others)
    print(`cli: cold start of "${other.name}"`, [other, idle!], { unit: "starts", as: "duration" })
}
