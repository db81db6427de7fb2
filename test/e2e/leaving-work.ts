/** A thousand commands of users and of an offline device, a third of which the server must refuse. */
import { setTimeout as pause } from "node:timers/promises"
import { type Random, randomOf } from "../sim/random.ts"
import { type CommandLine, token } from "./processes.ts"
import type { Body } from "../answers.ts"

export interface Reply {
  readonly status: number
  readonly body: Body
}
/** Undefined if the server stopped before it responded. */
export type Ask = (method: string, path: string, body?: object) => Promise<Reply | undefined>

export const askOf =
  (urls: () => ReadonlyArray<string>): Ask =>
  async (method, path, body) => {
    const all = urls()
    try {
      const response = await fetch(`${all[turn++ % all.length]}/api/v1${path}`, {
        method,
        headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
    } catch {
      return undefined
    }
  }
let turn = 0

/** Repeats an idempotent request until it is answered. */
export const surely = async (ask: Ask, method: string, path: string, body?: object) => {
  for (let tries = 0; tries < 600; tries++) {
    const reply = await ask(method, path, body)
    if (reply !== undefined && reply.status < 300) return reply.body
    if (reply !== undefined && reply.status < 500)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    await pause(100)
  }
  throw new Error(`${method} ${path}: nobody answers`)
}

/** Results of the answered commands; names are unique in the run. */
export interface Answers {
  /** Names in the bodies of accepted commands. */
  readonly accepted: Set<string>
  readonly refused: Set<string>
  /** Without a response: accepted or not. */
  readonly unknown: Set<string>
  /** Refusals by their source: the body, a rule, a constraint. */
  readonly refusals: { [why: string]: number }
  /** Ids of jobs that send messages. */
  readonly mailed: Set<string>
}
export const noAnswers = (): Answers => ({
  accepted: new Set(),
  refused: new Set(),
  unknown: new Set(),
  refusals: { body: 0, rule: 0, constraint: 0 },
  mailed: new Set()
})

export interface Ground {
  readonly product: number
  readonly group: number
  readonly members: ReadonlyArray<number>
  readonly groups: ReadonlyArray<number>
  /** Asset numbers in use. */
  readonly taken: ReadonlyArray<string>
}
export const groundFor = async (ask: Ask): Promise<Ground> => {
  const made = async (path: string, body: object) => Object.values(await surely(ask, "POST", path, body))[0]
  const several = <A>(count: number, one: (at: number) => Promise<A>) =>
    Promise.all(Array.from({ length: count }, (_, at) => one(at)))
  const { id: product } = await made("/products", { name: "Lamp", stock_method: 2, product_type: "rental" })
  const units = await several(5, (at) =>
    made("/stock_levels", { product_id: product, store_id: 1, asset_number: `TAKEN-${at}` })
  )
  return {
    product,
    group: (await made("/product_groups", { name: "All" })).id,
    members: (
      await several(8, (at) => made("/members", { name: `Client ${at}`, membership_type: "organisation" }))
    ).map(({ id }) => id),
    groups: (await several(60, (at) => made("/product_groups", { name: `Passing ${at}` }))).map(({ id }) => id),
    taken: units.map(({ asset_number }) => asset_number)
  }
}

interface Deed {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly body?: object
  /** What refuses it. */
  readonly against?: "body" | "rule" | "constraint"
}
type Deeds = () => Deed

/** Each command has a unique name in its body; deletions are identified by the deleted row. */
export const deedsOn = (ground: Ground, seed: number): Deeds => {
  const chance = randomOf(seed)
  const passing = [...ground.groups]
  let count = 0
  const taken: ReadonlyArray<(name: string) => Deed> = [
    (name) => ({ name, method: "POST", path: "/members", body: { name, membership_type: "organisation" } }),
    (name) => ({ name, method: "PUT", path: `/members/${chance.pick(ground.members)}`, body: { name } }),
    (name) => ({ name, method: "POST", path: "/products", body: { name, stock_method: 1, product_type: "rental" } }),
    (name) => ({ name, method: "PUT", path: `/products/${ground.product}`, body: { name } }),
    (name) => ({ name, method: "POST", path: "/product_groups", body: { name } }),
    (name) => ({ name, method: "POST", path: "/stock_levels", body: unit(ground, name, name) }),
    (name) => ({ name, method: "POST", path: "/containers/temporary", body: { name, barcode: name, store_id: 1 } }),
    (name) => {
      const id = passing.pop()
      return id === undefined
        ? { name, method: "PUT", path: `/product_groups/${ground.group}`, body: { name } }
        : { name: `product_groups/${id}`, method: "DELETE", path: `/product_groups/${id}` }
    }
  ]
  const refused: ReadonlyArray<(name: string) => Deed> = [
    (name) => ({ name, method: "POST", path: "/members", body: { name }, against: "body" }),
    (name) => ({ name, method: "POST", path: "/products", body: { name, stock_method: "often" }, against: "body" }),
    (name) => refusedByRule(ground, name),
    (name) => refusedByConstraint(ground, chance, name),
    (name) => refusedByConstraint(ground, chance, name)
  ]
  return () => {
    const is_third = count % 3 === 2
    const name = `${is_third ? "NO" : "YES"}-${++count}-`
    return chance.pick(is_third ? refused : taken)(name)
  }
}
const unit = ({ product: product_id }: Ground, asset_number: string, barcode: string) => ({
  product_id,
  store_id: 1,
  asset_number,
  barcode
})
const refusedByRule = ({ group }: Ground, name: string): Deed => ({
  name,
  method: "PUT",
  path: `/product_groups/${group}`,
  body: { name, parent_id: group },
  against: "rule"
})
/** Refused by the database when the row is written, after its events. */
const refusedByConstraint = (ground: Ground, chance: Random, name: string): Deed => ({
  name,
  method: "POST",
  path: "/stock_levels",
  body: unit(ground, chance.pick(ground.taken), name),
  against: "constraint"
})

/** Runs commands until enough are answered, several at once. */
export const doDeeds = async (ask: Ask, deeds: Deeds, count: number, answers: Answers): Promise<void> => {
  let answered = 0
  const one = async (): Promise<void> => {
    while (answered < count) {
      answered++
      const { against, body, method, name, path } = deeds()
      const reply = await ask(method, path, body)
      if (reply === undefined) {
        answered--
        answers.unknown.add(name)
        await pause(200)
      } else if (reply.status < 300 && against === undefined) answers.accepted.add(name)
      else if (reply.status === 422 && against !== undefined) {
        answers.refused.add(name)
        answers.refusals[against] = (answers.refusals[against] ?? 0) + 1
      } else throw new Error(`${method} ${path} ${name}: ${reply.status} ${JSON.stringify(reply.body)}`)
    }
  }
  await Promise.all(Array.from({ length: 4 }, one))
}

/** Queues messages until each address is accepted; those without a response may have been queued as well. */
export const queueMail = async (ask: Ask, addresses: ReadonlyArray<string>, { mailed }: Answers): Promise<void> => {
  for (const to of addresses) {
    let reply = await ask("POST", "/system/mail/test", { to })
    for (let again = 1; reply === undefined; again++) {
      await pause(50)
      reply = await ask("POST", "/system/mail/test", { to: to.replace("@", `-${again}@`) })
    }
    if (reply.status !== 202) throw new Error(`mail to ${to}: ${reply.status} ${JSON.stringify(reply.body)}`)
    mailed.add(reply.body.job_id)
  }
}

/** Offline commands of a device; the last third needs goods taken meanwhile. */
export const workOffline = async (
  cli: CommandLine,
  ask: Ask,
  ground: Ground,
  round: string,
  answers: Answers
): Promise<void> => {
  const make = async (path: string, body: object): Promise<void> => {
    const ran = await cli("api", "POST", `/api/v1${path}`, "-d", JSON.stringify(body), "--offline", "--json")
    if (ran.code !== 0) throw new Error(`offline ${path}: ${ran.code} ${ran.err}${ran.out}`)
  }
  const rival = `RIVAL-${round}-`
  await surely(ask, "GET", "/system/health")
  await make("/members", { name: `YES-off-${round}-1-`, membership_type: "organisation" })
  await make("/product_groups", { name: `YES-off-${round}-2-` })
  await make("/stock_levels", unit(ground, rival, `NO-off-${round}-`))
  // Created on the server first with the same number, unknown to the device.
  for (let tries = 0; ; tries++) {
    const reply = await ask("POST", "/stock_levels", unit(ground, rival, rival))
    if (reply !== undefined && (reply.status === 201 || (reply.status === 422 && tries > 0))) break
    if (reply !== undefined) throw new Error(`the rival: ${reply.status} ${JSON.stringify(reply.body)}`)
    await pause(50)
  }
  for (const name of [`YES-off-${round}-1-`, `YES-off-${round}-2-`, rival]) answers.accepted.add(name)
  answers.refused.add(`NO-off-${round}-`)
  for (let tries = 0; ; tries++) {
    const synced = await cli("sync", "--json")
    if (synced.json?.sync?.pending === 0) return
    if (tries > 60) throw new Error(`the device cannot sync: ${synced.code} ${synced.err}${synced.out}`)
    await pause(200)
  }
}
